// convex/callers.ts
import { hashKey, MINUTE } from "convex-rate-limits";
import { type Caller, type HttpCtx, type HttpLimit } from "convex-rate-limits/http";
import { internal } from "./_generated/api";

async function identify(ctx: HttpCtx, request: Request): Promise<Caller> {
  const hash = await hashKey(request.headers.get("X-Api-Key") ?? "");
  const plan = await ctx.runQuery(internal.keys.planOf, { hash });
  const scale = plan === "pro" ? 10 : 1;
  return {
    ...(plan === null ? { without: { status: 401 } } : { key: hash }),
    config: (name) => ({ kind: "token bucket", rate: scale * (name === "reads" ? 60 : 6), period: MINUTE }),
  };
}

export const limits: HttpLimit[] = [
  { limit: "reads", identify },
  { limit: "writes", identify, when: ({ request }) => request.method === "POST" },
];
