/** A backend with HTTP actions, and limits in either home. */
import { type HttpRouter, internalMutationGeneric, makeFunctionReference } from "convex/server";
import { type Infer, v } from "convex/values";
import { convexTest } from "convex-test";
import { type RateLimitConfig, type RateLimitStatus } from "convex-rate-limits";
import { type Consume, type LimitRequest, vLimitRequest } from "convex-rate-limits/http";
import { register } from "convex-rate-limits/test";
import { afterEach, beforeEach, vi } from "vitest";
import { component, defineIn, type HomeName, type MutationCtx, schema } from "../homes.js";

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

const requestsArgs = { requests: v.array(vLimitRequest) };

/** One mutation, so one transaction: nothing is taken unless every limit lets the request pass. */
function consumeAllIn(home: HomeName) {
  const { rateLimit, checkRateLimit } = defineIn(home, {});
  return internalMutationGeneric({
    args: requestsArgs,
    handler: async (ctx: MutationCtx, { requests }: { requests: Infer<typeof requestsArgs.requests> }) => {
      const statuses: RateLimitStatus[] = [];
      for (const request of requests) statuses.push(await checkRateLimit(ctx, request));
      if (!statuses.every(({ ok }) => ok)) return { statuses };
      return { statuses: await Promise.all(requests.map((request) => rateLimit(ctx, { ...request, throws: true }))) };
    },
  });
}

/** Home A: a mutation of the app's own; also the way to take several limits of the component in one transaction. */
export function consumeIn(home: HomeName): Consume {
  const consumeAll = makeFunctionReference<"mutation", { requests: LimitRequest[] }, { statuses: RateLimitStatus[] }>(
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
