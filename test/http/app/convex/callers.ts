// convex/callers.ts
import { hashKey, MINUTE } from "convex-rate-limits";
import { type Caller, denyWith, type HttpCtx, type HttpLimit } from "convex-rate-limits/http";
import { internal } from "./_generated/api";

async function identify(ctx: HttpCtx, request: Request): Promise<Caller> {
  const hash = await hashKey(request.headers.get("X-Api-Key") ?? "");
  const plan = await ctx.runQuery(internal.keys.planOf, { hash });
  const scale = plan === "pro" ? 10 : 1;
  return {
    key: plan === null ? denyWith(401) : hash,
    config: (name) => ({ kind: "token bucket", rate: scale * (name === "reads" ? 60 : 6), period: MINUTE }),
  };
}

export const limits: HttpLimit[] = [
  { name: "reads", identify },
  { name: "writes", identify, when: ({ request }) => request.method === "POST" },
];
