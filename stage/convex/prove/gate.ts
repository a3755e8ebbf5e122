/** HTTP actions that return what arrives, one with a limit, and one that streams. A caller without the secret gets a 404. */
import { defineRateLimits, SECOND } from "convex-rate-limits/component";
import { custom, limitHttp } from "convex-rate-limits/http";
import type { HttpActionBuilder, HttpRouter } from "convex/server";
import { components } from "../_generated/api.js";
import { httpAction } from "../_generated/server.js";
import { isAdmitted } from "./secret.js";

const limits = defineRateLimits(
  { proofRequests: { kind: "token bucket", rate: 1, period: 2 * SECOND, capacity: 3, keyed: true } },
  { component: components.rateLimits },
);

type Handler = Parameters<HttpActionBuilder>[0];

const guarded = (handler: Handler) =>
  httpAction((ctx, request) => {
    const isKnown = isAdmitted(request.headers.get("x-prove-secret") ?? "");
    return isKnown ? handler(ctx, request) : Promise.resolve(new Response(null, { status: 404 }));
  });

const echo: Handler = async (ctx, request) => {
  const metadata = await ctx.meta.getRequestMetadata();
  return Response.json({ forwarded: request.headers.get("x-forwarded-for"), ip: metadata.ip });
};

const limited: Handler = limitHttp(
  limits,
  {
    limit: "proofRequests",
    by: custom("run", (_ctx, request) => new URL(request.url).searchParams.get("run")),
    without: { status: 400 },
    formats: ["draft-11", "x"],
  },
  () => Promise.resolve(Response.json({ ok: true })),
);

/** Sends two parts, the second 500 ms after the first. */
const stream: Handler = () => {
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(encoder.encode("first"));
      await new Promise((resolve) => setTimeout(resolve, 500));
      controller.enqueue(encoder.encode("second"));
      controller.close();
    },
  });
  return Promise.resolve(new Response(body));
};

const options: Handler = () => Promise.resolve(new Response(null, { status: 204, headers: { Allow: "GET, HEAD" } }));

export function proveRoutes(http: HttpRouter): void {
  http.route({ path: "/prove/echo", method: "GET", handler: guarded(echo) });
  http.route({ path: "/prove/limited", method: "GET", handler: guarded(limited) });
  http.route({ path: "/prove/stream", method: "GET", handler: guarded(stream) });
  http.route({ path: "/prove/limited", method: "OPTIONS", handler: guarded(options) });
}
