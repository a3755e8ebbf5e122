// convex/endpoints.ts
import { HOUR, MINUTE, type RateLimitConfig } from "convex-rate-limits";
import { address, fromQuery, type HttpLimit } from "convex-rate-limits/http";
import { internal } from "./_generated/api";
import { byCaller } from "./keys";

const plans: Record<"anonymous" | "free" | "pro", RateLimitConfig> = {
  anonymous: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 3 },
  free: { kind: "token bucket", rate: 30, period: MINUTE, capacity: 10 },
  pro: { kind: "token bucket", rate: 600, period: MINUTE, capacity: 100 },
};

export const limits: HttpLimit[] = [
  { limit: "service", by: "everyone" },
  { limit: "address", by: address({ trustedProxies: 1 }), without: "deny" },
  {
    limit: "requests",
    ...byCaller,
    config: async ({ ctx, key }) => {
      const hash = key?.startsWith("apikey:") ? key.slice("apikey:".length) : "";
      const plan = await ctx.runQuery(internal.keys.planOf, { hash });
      return plans[plan ?? "anonymous"];
    },
  },
  {
    limit: "report-days",
    ...byCaller,
    config: { kind: "fixed window", rate: 366, period: HOUR },
    cost: fromQuery("days", { default: 7 }),
    when: ({ request }) => new URL(request.url).pathname.startsWith("/reports"),
  },
];
