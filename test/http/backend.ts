/** A backend with HTTP actions, and limits in either home. */
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
import { useClock as useClockAt } from "../support/clock.js";
import { defineIn, openBackend, type PlaceName } from "../support/places.js";

/** A whole second, so that whole seconds are easily told. */
export const START = Date.UTC(2026, 0, 1);

/** Only the clock stands still; timers and the network are real. */
export function useClock(): void {
  useClockAt(START, "Date");
}

/** Moves the clock on. */
export function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Tests try options that do not compile, too. */
type AnyLimit = Partial<Record<keyof HttpLimit | "config" | "identify", unknown>>;
type CommonOptions = Omit<LimitHttpOptions, keyof HttpLimit | "via" | "limits" | "onError">;

/** A wrapped handler in a place, as tests say it: one limit or several, and what becomes of its calls. */
export interface Way extends CommonOptions {
  limits: AnyLimit | readonly AnyLimit[];
  /** Of all the limits. */
  refund?: HttpLimit["refund"];
  onError?: "closed" | "open";
  place?: PlaceName;
  definitions?: RateLimitDefinitions;
  /** Of the set of limits. */
  onDecision?: () => void;
  /** In place of the call of the mutation that asks the limits, or gives back. */
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

/** An app with these routes. */
export function openHttpBackend(router: HttpRouter, { definitions = {}, onDecision }: Partial<Way> = {}) {
  const limits = defineIn("tables", definitions, onDecision && { onDecision });
  return openBackend({
    "./http.ts": async () => await Promise.resolve({ default: router }),
    "./limits.ts": async () => await Promise.resolve({ askLimits: httpMutation(limits) }),
  });
}
export type HttpBackend = ReturnType<typeof openHttpBackend>;

export const tokens = (rate: number, period: number = MINUTE, capacity = rate) => {
  return { kind: "token bucket" as const, rate, period, capacity };
};
/** Ten at once, and five more a second: the story that the project began with. */
export const TEN_THEN_FIVE = tokens(5, 1000, 10);
/** A limit of the whole service. */
export const forAll = (limit: string, config: RateLimitConfig, rest: object = {}): HttpLimit => {
  return { limit, by: "everyone", config, ...rest };
};

/** The handler of a wrapped HTTP action. */
export type Handler = (ctx: HttpCtx, request: Request, limits: readonly LimitedBy[]) => Promise<Response>;

export const served: Handler = () => Promise.resolve(new Response("served"));

/** An app that answers every path, limited in its tables unless the way says otherwise. */
export function openApp(way: Way, handler: Handler = served) {
  const action = httpActionGeneric(wrap(way, handler));
  const router = httpRouter();
  for (const method of ["GET", "POST", "OPTIONS"] as const) router.route({ pathPrefix: "/", method, handler: action });
  const t = openHttpBackend(router, way);
  return { t, send: async (path = "/", init: RequestInit = {}): Promise<Response> => await t.fetch(path, init) };
}
export const serve = (way: Way, handler?: Handler) => openApp(way, handler).send;

/** Users are in a header. */
export const byUser = custom("user", (_ctx, request) => request.headers.get("X-User"));
