/** The rules of a small public API, as data: what each limit counts by, what it allows, and what a request costs. */
import { componentsGeneric, internalMutationGeneric, makeFunctionReference } from "convex/server";
import { v } from "convex/values";
import {
  checkRateLimit,
  HOUR,
  MINUTE,
  rateLimit,
  type RateLimitConfig,
  type RateLimitStatus,
} from "convex-rate-limits";
import type { ComponentApi } from "convex-rate-limits/_generated/component";
import {
  byAddress,
  byApiKey,
  type Consume,
  deny,
  firstOf,
  fromQuery,
  type HttpLimit,
  type LimitHttpOptions,
  type LimitRequest,
  vLimitRequest,
} from "convex-rate-limits/http";

const component = (componentsGeneric() as unknown as { rateLimits: ComponentApi }).rateLimits;

type Plan = "anonymous" | "free" | "pro";

const requests: Record<Plan, RateLimitConfig> = {
  anonymous: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 3 },
  free: { kind: "token bucket", rate: 30, period: MINUTE, capacity: 10 },
  pro: { kind: "token bucket", rate: 600, period: MINUTE, capacity: 100 },
};

/** A report costs as many tokens as it covers days. */
const reportDays: Record<Plan, RateLimitConfig> = {
  anonymous: { kind: "fixed window", rate: 7, period: HOUR },
  free: { kind: "fixed window", rate: 62, period: HOUR },
  pro: { kind: "fixed window", rate: 3660, period: HOUR },
};

/** SHA-256 of the keys that were issued ("demo-free" and "demo-pro"). A real app keeps them in a table. */
const issuedKeys: Readonly<Record<string, Plan>> = {
  e1f4fdb94683a17c8a5d9e6dc6cca27c4a2f827dbe26ede139c17a61127b1f4f: "free",
  de4562274bd40421c1e8c1a589f4ec9f96c4c6e529fa843be4ef0d99d9256b7e: "pro",
};

/** One proxy, the platform's own, tells us who called it. */
const address = byAddress({ trustedProxies: 1 });

/** Keys that were issued count for themselves. Invented ones, and none, count by address: guessing is not free. */
const caller = firstOf(byApiKey({ known: (_ctx, digest) => Object.hasOwn(issuedKeys, digest) }), address, deny);

function planOf(key: string | undefined): Plan {
  return issuedKeys[key?.replace("apikey:", "") ?? ""] ?? "anonymous";
}

/** However many keys a machine has, it is one machine. */
const perAddress: HttpLimit = {
  name: "address",
  key: firstOf(address, deny),
  config: { kind: "token bucket", rate: 120, period: MINUTE, capacity: 40 },
};

const perCaller: HttpLimit = { name: "requests", key: caller, config: ({ key }) => requests[planOf(key)] };

const perReport: HttpLimit = {
  name: "report-days",
  key: caller,
  config: ({ key }) => reportDays[planOf(key)],
  cost: fromQuery("days", { default: 7, min: 1, max: 366 }),
};

const consumeAllReference = makeFunctionReference<
  "mutation",
  { requests: LimitRequest[] },
  { statuses: RateLimitStatus[] }
>("gateway:consumeAll");

const consume: Consume = (ctx, requests) => ctx.runMutation(consumeAllReference, { requests });

export const cors = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers": "X-Api-Key",
};

const common = { consume, cors, jitter: 0.5, formats: ["draft-11", "x"] } satisfies Partial<LimitHttpOptions>;

/** Each route, and the limits that its requests are held to. */
export const rules = {
  hello: { ...common, limits: [perAddress, perCaller] },
  reports: { ...common, limits: [perAddress, perCaller, perReport] },
} satisfies Record<string, LimitHttpOptions>;

/** One transaction: every limit lets the request pass, or none is charged. */
export const consumeAll = internalMutationGeneric({
  args: { requests: v.array(vLimitRequest) },
  handler: async (ctx, { requests }) => {
    const statuses: RateLimitStatus[] = [];
    for (const request of requests) statuses.push(await checkRateLimit(ctx, { ...request, component }));
    if (!statuses.every(({ ok }) => ok)) return { statuses };
    // Two requests to one bucket pass the check one by one; should they not fit together, the throw gives everything back.
    const taken = requests.map((request) => rateLimit(ctx, { ...request, component, throws: true }));
    return { statuses: await Promise.all(taken) };
  },
});
