// convex/login.ts
import { defineRateLimits, MINUTE } from "convex-rate-limits/component";
import { address, limitHttp } from "convex-rate-limits/http";
import { components } from "./_generated/api";
import { httpAction } from "./_generated/server";

const limits = defineRateLimits(
  { login: { kind: "token bucket", rate: 5, period: 10 * MINUTE } },
  { component: components.rateLimits },
);

export const login = httpAction(
  limitHttp(
    limits,
    {
      limit: "login",
      by: address({ trustedProxies: 1 }),
      without: "deny",
      refund: (response) => response?.status === 204,
      denial: { body: ({ retryAfter }) => ({ error: "locked", seconds: retryAfter }) },
    },
    async (_ctx, request) => new Response(null, { status: (await request.text()) === "sesame" ? 204 : 401 }),
  ),
);
