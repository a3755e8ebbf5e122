// convex/limits.ts
import { defineRateLimits, MINUTE, type RateLimitConfig } from "convex-rate-limits/component";
import {
  byAddress,
  byBearer,
  denyWith,
  firstOf,
  type HttpCtx,
  type HttpLimit,
  inComponent,
  type LimitHttpOptions,
  sharedBucket,
} from "convex-rate-limits/http";
import { v } from "convex/values";
import { components, internal } from "./_generated/api";
import { internalMutation } from "./_generated/server";

const configs = {
  address: { kind: "token bucket", rate: 600, period: MINUTE, capacity: 200, shards: "auto" },
  token: { kind: "token bucket", rate: 3000, period: MINUTE, capacity: 500, shards: "auto" },
} satisfies Record<string, RateLimitConfig>;
const admin: RateLimitConfig = { kind: "token bucket", rate: 60, period: MINUTE };

const roleOf = async (ctx: HttpCtx, hash: string): Promise<string | null> =>
  await ctx.runQuery(internal.tokens.roleOf, { hash });
const isKnown = async (ctx: HttpCtx, hash: string) => (await roleOf(ctx, hash)) !== null;
const isAdmin = async (ctx: HttpCtx, hash: string) => (await roleOf(ctx, hash)) === "admin";

/** A token counts for itself, wherever it calls from; an invented one, and none, count for the address. */
const requests: HttpLimit = {
  name: "requests",
  key: firstOf(byBearer({ known: isKnown }), byAddress({ trustedProxies: 1 }), sharedBucket("no address")),
  config: ({ key }) => (key?.startsWith("bearer:") ? configs.token : configs.address),
};
const admins: HttpLimit = {
  name: "admin",
  key: firstOf(byBearer({ known: isAdmin }), denyWith(401, { "WWW-Authenticate": "Bearer" })),
  config: admin,
};

/** Both header families, and one line of the log for each limit that denies. */
const common = {
  consume: inComponent(components.rateLimits),
  formats: ["draft-11", "x"],
  jitter: 0.5,
  onDenied: ({ request, limits, retryAt }) => {
    for (const { name, key } of limits) {
      console.warn(JSON.stringify({ event: "denied", limit: name, key, path: new URL(request.url).pathname, retryAt }));
    }
  },
} satisfies Partial<LimitHttpOptions>;

export const rules = {
  public: { ...common, limits: requests },
  admin: { ...common, limits: [requests, admins] },
} satisfies Record<string, LimitHttpOptions>;

const { sweepRateLimits } = defineRateLimits({ admin }, { component: components.rateLimits });

/** Once a day: rows that are full again under every config that calls were given. */
export const sweep = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await sweepRateLimits(ctx, { configs: { requests: Object.values(configs) } });
    return null;
  },
});
