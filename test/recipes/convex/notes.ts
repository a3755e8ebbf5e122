// convex/notes.ts
import { v } from "convex/values";
import { userMutation } from "./functions";

export const add = userMutation({
  args: { text: v.string() },
  returns: v.id("notes"),
  handler: async (ctx, { text }) => {
    if (text === "") throw new Error("A note needs a text.");
    return await ctx.db.insert("notes", { author: ctx.user.tokenIdentifier, text });
  },
});
