// convex/login.ts
import { MINUTE } from "convex-rate-limits";
import { byAddress, deny, firstOf, inComponent, limitHttp } from "convex-rate-limits/http";
import { components } from "./_generated/api";
import { httpAction } from "./_generated/server";

export const login = httpAction(
  limitHttp(
    {
      limits: {
        name: "login",
        key: firstOf(byAddress({ trustedProxies: 1 }), deny),
        config: { kind: "token bucket", rate: 5, period: 10 * MINUTE },
      },
      consume: inComponent(components.rateLimits),
      refund: (response) => response?.status === 204,
      denial: { body: ({ retryAfter }) => ({ error: "locked", seconds: retryAfter }) },
    },
    async (_ctx, request) => new Response(null, { status: (await request.text()) === "sesame" ? 204 : 401 }),
  ),
);
