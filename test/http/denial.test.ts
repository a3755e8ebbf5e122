// @vitest-environment edge-runtime
/** Denials whose body, status and headers the app chooses. */
import { SECOND } from "convex-rate-limits";
import type { HttpDenial } from "convex-rate-limits/http";
import { expect, it, vi } from "vitest";
import { forAll, serve, START, type Step, type Story, tell, tokens, useClock, type Way } from "./backend.js";

useClock();

const once = forAll("once", tokens(1, 7 * SECOND));
const roomy = forAll("roomy", tokens(9, SECOND));

/** A story whose second request is denied. The denial always has these fields. */
const denied = (way: Omit<Way, "limits">, answer: object, reports: string[] = []): Story => {
  const step: Step = ["", { wait: "7", left: '"once";r=0;t=7', ...answer }];
  return { limits: [roomy, once], ...way, steps: ["200", step], reports };
};
const problem = { "Content-Type": "application/problem+json" };
const own = { headers: { "X-Own": "1" } };
const words = { title: "Too many requests", "violated-policies": ["once"] };
const redirect = ({ retryAfter }: HttpDenial) =>
  Promise.resolve(new Response(null, { status: 302, headers: { Location: `/wait/${String(retryAfter)}` } }));

tell({
  "the default body may have another status and more headers": denied(
    { denial: { status: 503, ...own } },
    { status: 503, "X-Own": "1", ...problem, body: { ...words, status: 503 } },
  ),
  "the default body is sent as a problem, even if the headers give another type": denied(
    { denial: { headers: { "content-type": "text/plain" } } },
    { ...problem, body: words },
  ),
  "a header that the app sets is kept": denied(
    { denial: { headers: { "Retry-After": "60" } } },
    { wait: "60", body: words },
  ),
  "onDenied may return the whole response, and the fields are added to it": denied(
    { onDenied: redirect, cors: { "X-Cors": "1" } },
    { status: 302, Location: "/wait/7", "X-Cors": "1" },
  ),
  "a body that throws is reported, and the request is still denied": denied(
    { denial: { body: () => Promise.reject(new Error("no words")), ...own } },
    { "X-Own": "1", ...problem, body: words },
    ["no words"],
  ),
  "a body that cannot be sent is reported, and the request is still denied": denied(
    { denial: { body: (() => undefined) as unknown as () => string, ...own } },
    { "X-Own": "1", ...problem, body: words },
    ["Error"],
  ),
  "an onDenied that fails is reported, and the client gets the same answer": denied(
    { onDenied: () => Promise.reject(new Error("no log")) },
    { ...problem, body: words },
    ["no log"],
  ),
});

it("body and onDenied are called for each denial, and for no other request", async () => {
  const onDenied = vi.fn();
  const body = vi.fn(() => "Later");
  const send = serve({ limits: [roomy, once], onDenied, denial: { body } });
  await send();
  expect([onDenied.mock.calls, body.mock.calls]).toEqual([[], []]);
  await send("/a");
  const limit = { name: "once", count: 1, status: expect.objectContaining({ ok: false }) as object };
  const denial = {
    ctx: expect.any(Object) as object,
    request: expect.objectContaining({ url: "https://some.convex.site/a" }) as Request,
    limits: [expect.objectContaining(limit)],
    retryAt: START + 7 * SECOND,
    retryAfter: 7,
  };
  expect([onDenied.mock.calls, body.mock.calls]).toEqual([[[denial]], [[denial]]]);
});
