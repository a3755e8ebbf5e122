// convex/functions.ts
import { customMutation } from "convex-helpers/server/customFunctions";
import { ConvexError } from "convex/values";
import { mutation } from "./_generated/server";
import { limits } from "./limits";

/** A mutation for users who are signed in, limited for each of them before it does anything. */
export const userMutation = customMutation(mutation, {
  args: {},
  input: async (ctx) => {
    const user = await ctx.auth.getUserIdentity();
    if (!user) throw new ConvexError({ kind: "SignedOut" });
    await limits.rateLimit(ctx, { name: "write", key: user.tokenIdentifier, throws: true });
    return { ctx: { user }, args: {} };
  },
});
