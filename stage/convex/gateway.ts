/** The rules of a small public API, as data: the key of each limit, what it allows, and what a request costs. */
import { defineRateLimits, HOUR, MINUTE, type RateLimitConfig } from "convex-rate-limits/component";
import { address, apiKey, fromQuery, type HttpLimit } from "convex-rate-limits/http";
import { components } from "./_generated/api.js";

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

/** The address of the caller, as one trusted proxy reports it. Without a proxy, as on a laptop, all callers share a bucket. */
const byAddress = { by: address({ trustedProxies: 1 }), without: "share" } as const;

/** An issued key has its own bucket. Requests with an invented key, or with none, count for their address, so guessing is not free. */
const byCaller = {
  by: [apiKey({ known: (_ctx, hash) => Object.hasOwn(issuedKeys, hash) }), byAddress.by],
  without: "share",
} as const;

function planOf(key: string | undefined): Plan {
  return issuedKeys[key?.replace("apikey:", "") ?? ""] ?? "anonymous";
}

export const limits = defineRateLimits(
  {
    /** One bucket for each address, so that a machine with many keys gets no more. */
    address: { kind: "token bucket", rate: 120, period: MINUTE, capacity: 40 },
  },
  { component: components.rateLimits },
);

const perAddress: HttpLimit = { limit: "address", ...byAddress };
const perCaller: HttpLimit = { limit: "requests", ...byCaller, config: ({ key }) => requests[planOf(key)] };
const perReport: HttpLimit = {
  limit: "report-days",
  ...byCaller,
  config: ({ key }) => reportDays[planOf(key)],
  cost: fromQuery("days", { default: 7, max: 366 }),
};

export const cors = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers": "X-Api-Key",
};

const common = { cors, jitter: 0.5, formats: ["draft-11", "x"] } as const;

/** The limits and options of each route. */
export const rules = {
  hello: { ...common, limits: [perAddress, perCaller] },
  reports: { ...common, limits: [perAddress, perCaller, perReport] },
};
