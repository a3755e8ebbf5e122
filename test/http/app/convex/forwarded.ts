// convex/forwarded.ts
import { httpAction } from "./_generated/server";

export const forwarded = httpAction(async (_ctx, { headers }) => new Response(headers.get("X-Forwarded-For")));
