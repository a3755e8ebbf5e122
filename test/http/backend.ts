/** A backend with HTTP actions, and limits in either home. */
import {
  httpActionGeneric,
  type HttpRouter,
  httpRouter,
  internalMutationGeneric,
  internalQueryGeneric,
  makeFunctionReference,
} from "convex/server";
import { v } from "convex/values";
import { convexTest } from "convex-test";
import type { RateLimitAllStatus, RateLimitConfig, RateLimitSnapshot, RateLimitStatus } from "convex-rate-limits";
import { vRateLimitAllStatus } from "convex-rate-limits/schema";
import {
  type Consume,
  type HttpCtx,
  inTables,
  type LimitedBy,
  limitHttp,
  type LimitHttpOptions,
  type LimitRequest,
  vLimitRequest,
} from "convex-rate-limits/http";
import { register } from "convex-rate-limits/test";
import { afterEach, beforeEach, vi } from "vitest";
import { component, defineIn, type PlaceName, type MutationCtx, type QueryCtx, schema } from "../support/places.js";

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

const requestsArg = { requests: v.array(vLimitRequest) };
type RequestsArg = { requests: LimitRequest[] };

/** What an app writes to limit HTTP in its tables: each function is one transaction. */
function functionsIn(home: PlaceName) {
  const { rateLimitAll, adjustRateLimit, getRateLimit } = defineIn(home, {});
  return {
    take: internalMutationGeneric({
      args: requestsArg,
      returns: vRateLimitAllStatus,
      handler: async (ctx: MutationCtx, { requests }: RequestsArg) => await rateLimitAll(ctx, requests),
    }),
    giveBack: internalMutationGeneric({
      args: requestsArg,
      handler: async (ctx: MutationCtx, { requests }: RequestsArg) => {
        const statuses = [];
        for (const each of requests) statuses.push(await adjustRateLimit(ctx, { ...each, count: -each.count }));
        return { statuses };
      },
    }),
    snapshots: internalQueryGeneric({
      args: requestsArg,
      handler: async (ctx: QueryCtx, { requests }: RequestsArg) =>
        await Promise.all(
          requests.map(({ name, key, config }) => getRateLimit(ctx as MutationCtx, { name, key, config })),
        ),
    }),
  };
}

/** Functions of the app's own: the way of your tables, and in the component a detour that must change nothing. */
export function consumeIn(home: PlaceName): Consume {
  return inTables({
    take: makeFunctionReference<"mutation", RequestsArg, RateLimitAllStatus>(`${home}:take`),
    giveBack: makeFunctionReference<"mutation", RequestsArg, { statuses: RateLimitStatus[] }>(`${home}:giveBack`),
    snapshots: makeFunctionReference<"query", RequestsArg, RateLimitSnapshot[]>(`${home}:snapshots`),
  });
}

/** An app with these routes. */
export function openHttpBackend(router: HttpRouter) {
  const t = convexTest({
    schema,
    modules: {
      "./_generated/api.ts": async () => await Promise.resolve({}),
      "./http.ts": async () => await Promise.resolve({ default: router }),
      "./tables.ts": async () => await Promise.resolve(functionsIn("tables")),
      "./component.ts": async () => await Promise.resolve(functionsIn("component")),
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
