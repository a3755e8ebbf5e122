/**
 * Logins by email and password. Only failures count, for the email that was typed and for the caller's address. An email counts
 * with or without an account: otherwise the limit would tell which emails have one.
 */
import { ConvexError, type Infer, v } from "convex/values";
import { internal } from "./_generated/api";
import { action, internalMutation, internalQuery } from "./_generated/server";
import { addressOf } from "./callers";
import { limits } from "./limits";
import { hashPassword, isPassword } from "./passwords";
import schema from "./schema";

const { email: vEmail, password: vPassword } = schema.tables.accounts.validator.fields;

/** One spelling for each email: otherwise "Ada@example.com" and "ada@example.com" would each have five tries. */
function normalise(typed: string): string {
  const email = typed.normalize("NFKC").trim().toLowerCase();
  if (email.length > 254 || !/^\S+@\S+$/.test(email)) throw new ConvexError({ kind: "NotAnEmail" });
  return email;
}

const vOutcome = v.union(
  v.object({ outcome: v.literal("welcome"), account: v.id("accounts") }),
  v.object({ outcome: v.literal("wrong") }),
  v.object({ outcome: v.literal("locked"), retryAt: v.number() }),
);

/**
 * The tokens are taken first, in a transaction of their own, and then the password is compared. So guesses that are made at once
 * get no extra tries, and a guess that fails is paid.
 */
export const logIn = action({
  args: { email: v.string(), password: v.string() },
  returns: vOutcome,
  // The type is written out because the handler refers to its own module.
  handler: async (ctx, { email: typed, password }): Promise<Infer<typeof vOutcome>> => {
    const email = normalise(typed);
    const ofEmail = { name: "loginsOfEmail", key: email } as const;
    const fromAddress = { name: "loginsFromAddress", key: await addressOf(ctx) } as const;
    const attempt = await limits.rateLimitAll(ctx, [ofEmail, { ...fromAddress, refundable: true }]);
    if (!attempt.ok) return { outcome: "locked", retryAt: attempt.retryAt };

    const account = await ctx.runQuery(internal.logins.find, { email });
    if (!(await isPassword(password, account?.password)) || !account) return { outcome: "wrong" };

    // The email's failures are forgotten. The address gets back only this token: with an account of its own it cannot buy guesses.
    await limits.resetRateLimit(ctx, ofEmail);
    const [, taken] = attempt.statuses;
    if (taken?.ok) await limits.adjustRateLimit(ctx, { ...fromAddress, count: -1, takenAt: taken.takenAt });
    // Here your auth library starts the session.
    return { outcome: "welcome", account: account._id };
  },
});

export const signUp = action({
  args: { email: v.string(), password: v.string() },
  returns: v.null(),
  handler: async (ctx, { email, password }) => {
    const account = { email: normalise(email) };
    if (password.length < 12) throw new ConvexError({ kind: "BadLength", atLeast: 12 });
    await limits.rateLimit(ctx, { name: "signUps", key: await addressOf(ctx), throws: true });
    await ctx.runMutation(internal.logins.add, { ...account, password: await hashPassword(password) });
    return null;
  },
});

export const find = internalQuery({
  args: { email: vEmail },
  returns: v.union(v.object({ _id: v.id("accounts"), password: vPassword }), v.null()),
  handler: async (ctx, { email }) => {
    const account = await ctx.db
      .query("accounts")
      .withIndex("by_email", (q) => q.eq("email", email))
      .unique();
    return account && { _id: account._id, password: account.password };
  },
});

/** A taken email is answered like a free one: in an app, a mail to it says which it was. */
export const add = internalMutation({
  args: { email: vEmail, password: vPassword },
  returns: v.null(),
  handler: async (ctx, account) => {
    const taken = ctx.db.query("accounts").withIndex("by_email", (q) => q.eq("email", account.email));
    if (!(await taken.unique())) await ctx.db.insert("accounts", account);
    return null;
  },
});
