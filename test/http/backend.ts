/** A backend with HTTP actions, and limits in either home. */
import {
  httpActionGeneric,
  type HttpRouter,
  httpRouter,
  internalMutationGeneric,
  makeFunctionReference,
} from "convex/server";
import { v } from "convex/values";
import { convexTest } from "convex-test";
import { type RateLimitAllStatus, type RateLimitConfig, vRateLimitAllStatus } from "convex-rate-limits";
import {
  type Consume,
  type HttpCtx,
  type LimitedBy,
  limitHttp,
  type LimitHttpOptions,
  type LimitRequest,
  vLimitRequest,
} from "convex-rate-limits/http";
import { register } from "convex-rate-limits/test";
import { afterEach, beforeEach, vi } from "vitest";
import { component, defineIn, type HomeName, type MutationCtx, schema } from "../support/places.js";

export { component };

/** A whole second, so that whole seconds are easily told. */
export const START = Date.UTC(2026, 0, 1);

/** Only the clock stands still; timers and the network are real. */
export function useClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: START });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** Moves the clock on. */
export function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** One mutation, so one transaction. */
function consumeAllIn(home: HomeName) {
  const { rateLimitAll } = defineIn(home, {});
  return internalMutationGeneric({
    args: { requests: v.array(vLimitRequest) },
    returns: vRateLimitAllStatus,
    handler: async (ctx: MutationCtx, { requests }: { requests: LimitRequest[] }) => await rateLimitAll(ctx, requests),
  });
}

/** A mutation of the app's own: the way of home A, and in home B a detour that must change nothing. */
export function consumeIn(home: HomeName): Consume {
  const consumeAll = makeFunctionReference<"mutation", { requests: LimitRequest[] }, RateLimitAllStatus>(
    `${home}:consumeAll`,
  );
  return async (ctx, requests) => await ctx.runMutation(consumeAll, { requests });
}

/** An app with these routes. */
export function openHttpBackend(router: HttpRouter) {
  const t = convexTest({
    schema,
    modules: {
      "./_generated/api.ts": async () => await Promise.resolve({}),
      "./http.ts": async () => await Promise.resolve({ default: router }),
      "./tables.ts": async () => await Promise.resolve({ consumeAll: consumeAllIn("tables") }),
      "./component.ts": async () => await Promise.resolve({ consumeAll: consumeAllIn("component") }),
    },
  });
  register(t);
  return t;
}
export type HttpBackend = ReturnType<typeof openHttpBackend>;

/** Ten at once, and five more a second: the story that the project began with. */
export const TEN_THEN_FIVE: RateLimitConfig = { kind: "token bucket", rate: 5, period: 1000, capacity: 10 };

/** The handler of a wrapped HTTP action. */
export type Handler = (ctx: HttpCtx, request: Request, limits: readonly LimitedBy[]) => Promise<Response>;

export const served: Handler = () => Promise.resolve(new Response("served"));

/** An app that answers every path, limited in its tables unless the options say otherwise. */
export function serve(
  options: Omit<LimitHttpOptions, "consume"> & { consume?: Consume },
  handler: Handler = served,
): (path?: string, init?: RequestInit) => Promise<Response> {
  const action = httpActionGeneric(
    limitHttp({ consume: consumeIn("tables"), ...options } as LimitHttpOptions, handler),
  );
  const router = httpRouter();
  for (const method of ["GET", "POST", "OPTIONS"] as const) router.route({ pathPrefix: "/", method, handler: action });
  const t = openHttpBackend(router);
  return async (path = "/", init = {}) => await t.fetch(path, init);
}

/** A context for what must not touch it. */
export const noCtx = {} as HttpCtx;

/** For requests that no limit may be asked about. */
export const noConsume: Consume = () => Promise.reject(new Error("This must not be asked."));
