/** The rules of a small public API, as data: what each limit counts by, what it allows, and what a request costs. */
import { HOUR, MINUTE, type RateLimitConfig } from "convex-rate-limits";
import {
  byAddress,
  byApiKey,
  firstOf,
  fromQuery,
  type HttpLimit,
  inComponent,
  type LimitHttpOptions,
  sharedBucket,
} from "convex-rate-limits/http";
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

/** One proxy, the platform's own, tells us who called it. Without a proxy, as on a laptop, all callers share a bucket. */
const address = byAddress({ trustedProxies: 1 });
const noAddress = sharedBucket("no address");

/** Keys that were issued count for themselves. Invented ones, and none, count by address: guessing is not free. */
const caller = firstOf(byApiKey({ known: (_ctx, hash) => Object.hasOwn(issuedKeys, hash) }), address, noAddress);

function planOf(key: string | undefined): Plan {
  return issuedKeys[key?.replace("apikey:", "") ?? ""] ?? "anonymous";
}

/** However many keys a machine has, it is one machine. */
const perAddress: HttpLimit = {
  name: "address",
  key: firstOf(address, noAddress),
  config: { kind: "token bucket", rate: 120, period: MINUTE, capacity: 40 },
};

const perCaller: HttpLimit = { name: "requests", key: caller, config: ({ key }) => requests[planOf(key)] };

const perReport: HttpLimit = {
  name: "report-days",
  key: caller,
  config: ({ key }) => reportDays[planOf(key)],
  cost: fromQuery("days", { default: 7, max: 366 }),
};

export const cors = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers": "X-Api-Key",
};

const common = {
  consume: inComponent(components.rateLimits),
  cors,
  jitter: 0.5,
  formats: ["draft-11", "x"],
} satisfies Partial<LimitHttpOptions>;

/** Each route, and the limits that its requests are held to. */
export const rules = {
  hello: { ...common, limits: [perAddress, perCaller] },
  reports: { ...common, limits: [perAddress, perCaller, perReport] },
} satisfies Record<string, LimitHttpOptions>;
