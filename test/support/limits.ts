/** A fresh backend for each test, and limits whose every call is a transaction of its own. */
import type { RateLimitAllStatus, RateLimitDefinitions, RateLimitsOptions, RateLimitStatus } from "convex-rate-limits";
import type { RateLimitSnapshot } from "convex-rate-limits/live";
import { beforeEach } from "vitest";
import { type Cost, costOf } from "./cost.js";
import type { AnyRateLimits, Backend, MutationCtx, PlaceName, QueryCtx, StoredRow } from "./places.js";
import { defineIn, insertRows, openBackend, rowsIn } from "./places.js";

interface Answers extends Record<keyof AnyRateLimits, unknown> {
  rateLimit: RateLimitStatus;
  checkRateLimit: RateLimitStatus;
  rateLimitAll: RateLimitAllStatus;
  checkRateLimitAll: RateLimitAllStatus;
  adjustRateLimit: RateLimitStatus;
  getRateLimit: RateLimitSnapshot;
  listRateLimits: Awaited<ReturnType<AnyRateLimits["listRateLimits"]>>;
  scheduleRateLimited: Awaited<ReturnType<AnyRateLimits["scheduleRateLimited"]>>;
  sweepRateLimits: Awaited<ReturnType<AnyRateLimits["sweepRateLimits"]>>;
}
/** The functions with untyped arguments: tests also pass wrong ones, and an unknown field would be a type error. */
export type Calls = { [Name in keyof AnyRateLimits]: (...args: unknown[]) => Promise<Answers[Name]> };

/** Within a describe: a fresh backend for each test; `more` are modules of functions that can be scheduled. */
export function useBackend(place: PlaceName, more: Record<string, () => Promise<object>> = {}) {
  let t: Backend;
  /** Opens another backend, in the middle of a test. */
  const open = (): Backend => (t = openBackend(more));
  beforeEach(() => {
    open();
  });
  const mutation = <T>(body: (ctx: MutationCtx) => Promise<T>): Promise<T> => t.mutation((ctx) => body(ctx));
  const query = <T>(body: (ctx: QueryCtx) => Promise<T>): Promise<T> => t.query((ctx) => body(ctx));

  const define = (limits: RateLimitDefinitions, options?: RateLimitsOptions<false>) => {
    const defined = defineIn(place, limits, options);
    const bound = (run: (name: string, call: (ctx: QueryCtx) => Promise<unknown>) => Promise<unknown>) =>
      Object.fromEntries(
        Object.entries(defined).map(([name, call]) => [
          name,
          (...args: unknown[]) => run(name, (ctx) => (call as (...all: unknown[]) => Promise<unknown>)(ctx, ...args)),
        ]),
      ) as unknown as Calls;
    return {
      ...bound((name, call) => (/^(check|get|list)/.test(name) ? query(call) : mutation(call))),
      /** The functions, called within one transaction. */
      within: (ctx: QueryCtx) => bound((_name, call) => call(ctx)),
    };
  };
  type Limits = ReturnType<typeof define>;
  return {
    open,
    /** The backend of this test. */
    backend: () => t,
    mutation,
    query,
    define,
    rows: () => rowsIn(place, t),
    /** The rows, in the order of their intervals. */
    parts: async () => (await rowsIn(place, t)).sort((a, b) => ((a.shard ?? "") < (b.shard ?? "") ? -1 : 1)),
    insert: (...rows: readonly StoredRow[]) => insertRows(place, t, rows),
    /** The cost of calls in one mutation. */
    cost: ({ within }: Limits, call: (calls: Calls) => Promise<unknown>): Promise<Cost> =>
      mutation((ctx) => costOf(ctx, (counting) => call(within(counting)))),
    costInQuery: ({ within }: Limits, call: (calls: Calls) => Promise<unknown>): Promise<Cost> =>
      query((ctx) => costOf(ctx, (counting) => call(within(counting)))),
  };
}
