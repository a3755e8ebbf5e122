/** A backend with HTTP actions, and limits in the app's tables or in the component; and stories: its answers to one request after another. */
import { httpActionGeneric, httpRouter, makeFunctionReference } from "convex/server";
import { MINUTE, type RateLimitConfig, type RateLimitDefinitions } from "convex-rate-limits";
import type { HttpCtx, HttpLimit, HttpMutation, LimitedBy, LimitHttpOptions } from "convex-rate-limits/http";
import { custom, httpMutation, limitHttp } from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { START, useClock as useClockAt } from "../support/clock.js";
import { defineIn, openBackend, type PlaceName } from "../support/places.js";

/** A whole second, so that the seconds in header fields are easy to predict. */
export { START } from "../support/clock.js";

/** Stops the clock only: timers and the network are real. */
export function useClock(): void {
  useClockAt(START, "Date");
}

/** Advances the clock. */
export function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** A limit whose fields may have any value, since tests also try options that do not compile. */
type AnyLimit = Partial<Record<keyof HttpLimit | "config" | "identify", unknown>>;
type CommonOptions = Omit<LimitHttpOptions, keyof HttpLimit | "via" | "limits" | "onError">;

/** The options of a wrapped handler in a test: its place, one limit or several, and how its calls end. */
export interface Way extends CommonOptions {
  limits: AnyLimit | readonly AnyLimit[];
  /** The `refund` of all the limits. */
  refund?: HttpLimit["refund"];
  onError?: "closed" | "open";
  place?: PlaceName;
  definitions?: RateLimitDefinitions;
  /** Replaces the call of the mutation that asks the limits or refunds tokens. */
  runMutation?: (call: () => Promise<unknown>, ctx: HttpCtx) => Promise<unknown>;
}

export const via = makeFunctionReference("limits:askLimits") as HttpMutation;

export function wrap(
  { limits, place = "tables", definitions = {}, runMutation, refund, ...rest }: Way,
  handler: Handler = served,
): (ctx: HttpCtx, request: Request) => Promise<Response> {
  const all = [limits].flat().map((limit: object) => ({ ...limit, ...(refund && { refund }) }));
  const given = { ...(all.length === 1 ? all[0] : { limits: all }), ...rest, ...(place === "tables" && { via }) };
  const action = limitHttp(defineIn(place, definitions), given as never, handler);
  if (!runMutation) return action;
  return (ctx, request) =>
    action({ ...ctx, runMutation: (...call) => runMutation(() => ctx.runMutation(...call), ctx) }, request);
}

export const tokens = (rate: number, period: number = MINUTE, capacity = rate) => {
  return { kind: "token bucket" as const, rate, period, capacity };
};
/** A limit that all callers share. */
export const forAll = (limit: string, config: RateLimitConfig, rest: object = {}): HttpLimit => {
  return { limit, by: "everyone", config, ...rest };
};

/** The handler of a wrapped HTTP action. */
export type Handler = (ctx: HttpCtx, request: Request, limits: readonly LimitedBy[]) => Promise<Response>;

export const served: Handler = () => Promise.resolve(new Response("served"));

/** Opens an app that answers every path. Its limits are in its tables unless `way` says otherwise. */
export function openApp(way: Way, handler: Handler = served) {
  const action = httpActionGeneric(wrap(way, handler));
  const router = httpRouter();
  for (const method of ["GET", "POST", "OPTIONS"] as const) router.route({ pathPrefix: "/", method, handler: action });
  const limits = defineIn("tables", way.definitions ?? {});
  const t = openBackend({
    "./http.ts": async () => await Promise.resolve({ default: router }),
    "./limits.ts": async () => await Promise.resolve({ askLimits: httpMutation(limits) }),
  });
  return { t, send: async (path = "/", init: RequestInit = {}): Promise<Response> => await t.fetch(path, init) };
}
export const serve = (way: Way, handler?: Handler) => openApp(way, handler).send;

/** A key source: the user is the value of the header X-User. */
export const byUser = custom("user", (_ctx, request) => request.headers.get("X-User"));

type App = ReturnType<typeof openApp>;
/** Short names for the fields that most answers check. */
const FIELDS: Record<string, string> = { policy: "RateLimit-Policy", left: "RateLimit", wait: "Retry-After" };
/**
 * An answer: a part of the message of the error that the handler throws; a status; or an object. The object has a status (default 200, or
 * 429 with a wait), header fields (null: absent) and a body. The body is text, or a part of the JSON.
 */
export type Answer = number | string | { status?: number; body?: unknown; [field: string]: unknown };
/**
 * A step: a wait in ms, a function to call, or a request and its answer. "ada POST /path" is a request of the user ada. By default, a
 * request has no user and is a GET of /. "ada 429" is a request and the status of its answer.
 */
export type Step = number | string | ((app: App) => Promise<unknown>) | readonly [request: string, answer: Answer];

export interface Story extends Way {
  /** Default: `byPath`. */
  handler?: Handler;
  steps: readonly Step[];
  /** The number of calls that ask the limits or refund tokens. */
  calls?: number;
  /** Parts of the errors that are reported, in order. Default: none. */
  reports?: readonly string[];
}

/** The steps, `count` times. */
export const times = (count: number, ...step: Step[]): Step[] => new Array<Step[]>(count).fill(step).flat();

/** Answers with the status in the path, and with the limits that the handler is given. At /throw it throws. */
export const byPath: Handler = (_ctx, request, limits) => {
  const [, path = ""] = new URL(request.url).pathname.split("/");
  if (path === "throw") return Promise.reject(new Error("bug"));
  const status = Number(path) || 200;
  return Promise.resolve(new Response([204, 304].includes(status) ? null : JSON.stringify(limits), { status }));
};

export async function play(story: Story): Promise<void> {
  const { handler = byPath, steps, calls, reports = [], runMutation, ...way } = story;
  const reported: unknown[] = [];
  let asked = 0;
  const app = openApp(
    {
      report: (error) => void reported.push(error),
      ...way,
      runMutation: async (call, ctx) => {
        asked++;
        return await (runMutation ? runMutation(call, ctx) : call());
      },
    },
    handler,
  );
  for (const [i, step] of steps.entries()) {
    if (typeof step === "number") pass(step);
    else if (typeof step === "function") await step(app);
    else if (typeof step === "string") await hold(app, [step.slice(0, -3), Number(step.slice(-3))], `${i}: ${step}`);
    else await hold(app, step, `${i}: ${step[0]}`);
  }
  expect(reported.map(String)).toEqual(reports.map((part) => expect.stringContaining(part) as string));
  if (calls !== undefined) expect(asked).toBe(calls);
}

async function hold({ send }: App, [request, answer]: readonly [string, Answer], step: string): Promise<void> {
  const words = request.split(" ");
  const [path = "/"] = words.filter((word) => word.startsWith("/"));
  const [method = "GET"] = words.filter((word) => /^[A-Z]+$/.test(word));
  const [user] = words.filter((word) => /^[^/A-Z]/.test(word));
  const sent = send(path, { method, headers: user === undefined ? {} : { "X-User": user } });
  if (typeof answer === "string") {
    await expect(sent, step).rejects.toThrow(answer);
    return;
  }
  const { body, ...said } =
    typeof answer === "number" ? { status: answer } : { status: answer["wait"] ? 429 : 200, ...answer };
  const response = await sent;
  const sentAs = (field: string) =>
    field === "status" ? response.status : response.headers.get(FIELDS[field] ?? field);
  const got = Object.keys(said).map((field) => [field, sentAs(field)]);
  expect({ step, ...Object.fromEntries(got) }).toEqual({ step, ...said });
  const text = await response.text();
  if (typeof body === "string") expect(text, step).toBe(body);
  else if (body !== undefined) expect(JSON.parse(text), step).toMatchObject(body as object);
}

/** Defines a test for each story in each of these places. */
export function tell(stories: Record<string, Story>, places: readonly PlaceName[] = ["tables"]): void {
  describe.each(places)("with the limits in the %s", (place) => {
    it.each(Object.entries(stories))("%s", async (_, story) => {
      await play({ place, ...story });
    });
  });
}
