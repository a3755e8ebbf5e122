/** The rules of a small public API, as data: the key of each limit, what it allows, and what a request costs. */
import { defineRateLimits, HOUR, MINUTE } from "convex-rate-limits/component";
import { address, apiKey, type Caller, fromQuery, type HttpCtx, type HttpLimit } from "convex-rate-limits/http";
import { components } from "./_generated/api.js";

type Plan = "anonymous" | "free" | "pro";

/** SHA-256 of the keys that were issued ("demo-free" and "demo-pro"). A real app keeps them in a table. */
const issuedKeys: Readonly<Record<string, Plan>> = {
  e1f4fdb94683a17c8a5d9e6dc6cca27c4a2f827dbe26ede139c17a61127b1f4f: "free",
  de4562274bd40421c1e8c1a589f4ec9f96c4c6e529fa843be4ef0d99d9256b7e: "pro",
};

/** The address of the caller, as one trusted proxy reports it. Without a proxy, as on a laptop, all callers share a bucket. */
const byAddress = address({ trustedProxies: 1 });
const byKey = apiKey({ known: (_ctx, hash) => Object.hasOwn(issuedKeys, hash) });

/** An issued key has its own bucket. Requests with an invented key, or with none, count for their address, so guessing is not free. */
async function identify(ctx: HttpCtx, request: Request): Promise<Caller> {
  const issued = await byKey.keyOf(ctx, request);
  const key = issued ?? (await byAddress.keyOf(ctx, request));
  const plan: Plan = issuedKeys[issued?.replace("apikey:", "") ?? ""] ?? "anonymous";
  return key === undefined ? { without: "share", plan } : { key, plan };
}

export const limits = defineRateLimits(
  {
    /** One bucket for each address, so that a machine with many keys gets no more. */
    address: { kind: "token bucket", rate: 120, period: MINUTE, capacity: 40 },
    requests: {
      kind: "token bucket",
      period: MINUTE,
      plans: {
        anonymous: { rate: 10, capacity: 3 },
        free: { rate: 30, capacity: 10 },
        pro: { rate: 600, capacity: 100 },
      },
    },
    /** A report costs as many tokens as it covers days. */
    "report-days": {
      kind: "fixed window",
      period: HOUR,
      plans: { anonymous: { rate: 7 }, free: { rate: 62 }, pro: { rate: 3660 } },
    },
  },
  { component: components.rateLimits },
);

const perAddress: HttpLimit = { limit: "address", by: byAddress, without: "share" };
const perCaller: HttpLimit = { limit: "requests", identify };
const perReport: HttpLimit = { limit: "report-days", identify, cost: fromQuery("days", { default: 7, max: 366 }) };

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
