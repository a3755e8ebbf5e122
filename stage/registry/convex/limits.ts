// convex/limits.ts
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { defineRateLimits, MINUTE } from "convex-rate-limits/component";
import { address, bearer, type Caller, type HttpCtx, type HttpDenial, type HttpLimit } from "convex-rate-limits/http";
import { v } from "convex/values";
import { components, internal } from "./_generated/api";
import { internalMutation } from "./_generated/server";

const roleOf = async (ctx: HttpCtx, hash: string): Promise<string | null> =>
  await ctx.runQuery(internal.tokens.roleOf, { hash });
const isKnown = async (ctx: HttpCtx, hash: string) => (await roleOf(ctx, hash)) !== null;
const isAdmin = async (ctx: HttpCtx, hash: string) => (await roleOf(ctx, hash)) === "admin";

export const limits = defineRateLimits(
  {
    requests: {
      kind: "token bucket",
      period: MINUTE,
      shards: "auto",
      plans: { address: { rate: 600, capacity: 200 }, token: { rate: 3000, capacity: 500 } },
    },
    admin: { kind: "token bucket", rate: 60, period: MINUTE },
  },
  { component: components.rateLimits },
);

const byToken = bearer({ known: isKnown });
const byAddress = address({ trustedProxies: 1 });

/** A known token has its own bucket, from any address. Requests with an invented token, or with none, count for their address. */
async function identify(ctx: HttpCtx, request: Request): Promise<Caller> {
  const token = await byToken.keyOf(ctx, request);
  if (token !== undefined) return { key: token, plan: "token" };
  const from = await byAddress.keyOf(ctx, request);
  return from === undefined ? { without: "share", plan: "address" } : { key: from, plan: "address" };
}

const requests: HttpLimit = { limit: "requests", identify };
const admins: HttpLimit = {
  limit: "admin",
  by: bearer({ known: isAdmin }),
  without: { status: 401, headers: { "WWW-Authenticate": "Bearer" } },
};

/** The options of all routes: both header families, and one log line for each limit that denies. */
const common = {
  formats: ["draft-11", "x"],
  jitter: 0.5,
  onDenied: ({ request, limits, retryAt }: HttpDenial) => {
    for (const { name, key } of limits) {
      console.warn(JSON.stringify({ event: "denied", limit: name, key, path: new URL(request.url).pathname, retryAt }));
    }
  },
} as const;

export const rules = {
  public: { ...common, limits: [requests] },
  admin: { ...common, limits: [requests, admins] },
};

const { sweepRateLimits } = rateLimitAdmin(limits);

/** Deletes once a day the rows that are full again, under the config that their calls passed. */
export const sweep = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await sweepRateLimits(ctx, {});
    return null;
  },
});
