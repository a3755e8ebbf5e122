/** A backend with HTTP actions, and limits in the app's tables or in the component. */
import { httpActionGeneric, type HttpRouter, httpRouter, makeFunctionReference } from "convex/server";
import { MINUTE, type RateLimitConfig, type RateLimitDefinitions } from "convex-rate-limits";
import {
  custom,
  type HttpCtx,
  type HttpLimit,
  type HttpMutation,
  httpMutation,
  type LimitedBy,
  limitHttp,
  type LimitHttpOptions,
} from "convex-rate-limits/http";
import { vi } from "vitest";
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
  /** The `onDecision` of the set of limits. */
  onDecision?: () => void;
  /** Replaces the call of the mutation that asks the limits or refunds tokens. */
  runMutation?: (call: () => Promise<unknown>, ctx: HttpCtx) => Promise<unknown>;
}

export const via = makeFunctionReference("limits:askLimits") as HttpMutation;

export function wrap(
  { limits, place = "tables", definitions = {}, onDecision, runMutation, refund, ...rest }: Way,
  handler: Handler = served,
): (ctx: HttpCtx, request: Request) => Promise<Response> {
  const all = [limits].flat().map((limit: object) => ({ ...limit, ...(refund && { refund }) }));
  const given = { ...(all.length === 1 ? all[0] : { limits: all }), ...rest, ...(place === "tables" && { via }) };
  const action = limitHttp(defineIn(place, definitions, onDecision && { onDecision }), given as never, handler);
  if (!runMutation) return action;
  return (ctx, request) =>
    action({ ...ctx, runMutation: (...call) => runMutation(() => ctx.runMutation(...call), ctx) }, request);
}

/** Opens an app with these routes. */
export function openHttpBackend(router: HttpRouter, { definitions = {}, onDecision }: Partial<Way> = {}) {
  const limits = defineIn("tables", definitions, onDecision && { onDecision });
  return openBackend({
    "./http.ts": async () => await Promise.resolve({ default: router }),
    "./limits.ts": async () => await Promise.resolve({ askLimits: httpMutation(limits) }),
  });
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
  const t = openHttpBackend(router, way);
  return { t, send: async (path = "/", init: RequestInit = {}): Promise<Response> => await t.fetch(path, init) };
}
export const serve = (way: Way, handler?: Handler) => openApp(way, handler).send;

/** A key source: the user is the value of the header X-User. */
export const byUser = custom("user", (_ctx, request) => request.headers.get("X-User"));
