// convex/endpoints.ts
import { HOUR, MINUTE, type RateLimitConfig } from "convex-rate-limits";
import { byAddress, deny, everyone, firstOf, fromQuery, type HttpLimit } from "convex-rate-limits/http";
import { internal } from "./_generated/api";
import { caller } from "./keys";

const plans: Record<"anonymous" | "free" | "pro", RateLimitConfig> = {
  anonymous: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 3 },
  free: { kind: "token bucket", rate: 30, period: MINUTE, capacity: 10 },
  pro: { kind: "token bucket", rate: 600, period: MINUTE, capacity: 100 },
};

export const limits: HttpLimit[] = [
  { name: "service", key: everyone, config: { kind: "token bucket", rate: 100_000, period: MINUTE, shards: 10 } },
  {
    name: "address",
    key: firstOf(byAddress({ trustedProxies: 1 }), deny),
    config: { kind: "token bucket", rate: 120, period: MINUTE },
  },
  {
    name: "requests",
    key: caller,
    config: async ({ ctx, key }) => {
      const hash = key?.startsWith("apikey:") ? key.slice("apikey:".length) : "";
      const plan = await ctx.runQuery(internal.keys.planOf, { hash });
      return plans[plan ?? "anonymous"];
    },
  },
  {
    name: "report-days",
    key: caller,
    config: { kind: "fixed window", rate: 366, period: HOUR },
    cost: fromQuery("days", { default: 7 }),
    when: ({ request }) => new URL(request.url).pathname.startsWith("/reports"),
  },
];
