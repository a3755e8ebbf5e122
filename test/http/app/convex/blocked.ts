// convex/blocked.ts
import { HOUR } from "convex-rate-limits/component";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { type HttpDenial, limitHttp } from "convex-rate-limits/http";
import { httpAction } from "./_generated/server";
import { caller, limits } from "./limits";

const { overrideRateLimit } = rateLimitAdmin(limits);

async function block({ ctx, limits: denied }: HttpDenial): Promise<void> {
  for (const { key, status } of denied) {
    // A blocked caller that asks again does not extend the block.
    if (!status.ok && status.reason !== "blocked")
      await overrideRateLimit(ctx, { name: "api", key, block: true, until: Date.now() + HOUR });
  }
}

export const strict = httpAction(
  limitHttp(limits, { limit: "api", by: caller, without: "deny", onDenied: block }, async () => new Response("Hello")),
);
