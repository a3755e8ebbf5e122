// convex/partners.ts
import { limitHttp } from "convex-rate-limits/http";
import { httpAction } from "./_generated/server";
import { caller, limits } from "./limits";

const allowed = new Set(["address:198.51.100.7", "address:2001:db8:1::/56"]);

export const partners = httpAction(
  limitHttp(
    limits,
    {
      limit: "api",
      by: caller,
      without: "deny",
      skip: async (request, ctx) => allowed.has((await caller.keyOf(ctx, request)) ?? ""),
    },
    async () => new Response("Hello"),
  ),
);
