// convex/mail.ts
import { Resend } from "@convex-dev/resend";
import { v } from "convex/values";
import { components } from "./_generated/api";
import { mutation } from "./_generated/server";
import { limits } from "./limits";

const resend = new Resend(components.resend, { testMode: false });

/** Few mails to one address, from all senders together: an invitation must not become a way to pester a person. */
export const invite = mutation({
  args: { address: v.string() },
  returns: v.null(),
  handler: async (ctx, { address }) => {
    const to = address.trim().toLowerCase();
    await limits.rateLimit(ctx, { name: "mail", key: to, throws: true });
    await resend.sendEmail(ctx, { from: "team@app.example", to, subject: "You are invited", text: "Come in." });
    return null;
  },
});
