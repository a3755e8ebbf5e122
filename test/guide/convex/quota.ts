// convex/quota.ts
import { exposeRateLimit } from "./limits";

export const { getRateLimit, getServerTime } = exposeRateLimit("sendMessage", {
  key: async (ctx) => {
    const identity = await ctx.auth.getUserIdentity();
    if (!identity) throw new Error("not signed in");
    return identity.subject;
  },
});
