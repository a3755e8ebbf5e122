/** Who calls. Every key of a signed-in user comes from here, never from an argument: a client would choose a fresh bucket. */
import { callerAddress } from "convex-rate-limits/http";
import type { Auth, RequestMetadata } from "convex/server";
import { ConvexError } from "convex/values";
import { env, type QueryCtx } from "./_generated/server";

/** The id of the signed-in user, the same after each sign-in. */
export async function callerOf({ auth }: { auth: Auth }): Promise<string> {
  const identity = await auth.getUserIdentity();
  if (!identity) {
    // Only for a first look at the app, before it has a sign-in: everybody is this user.
    if (env.DEMO_USER) return env.DEMO_USER;
    throw new ConvexError({ kind: "NotSignedIn" });
  }
  const { issuer, subject, tokenIdentifier } = identity;
  // Convex Auth issues tokens itself, and its subject is "user|session": with the session, each sign-in would be a new caller.
  if (issuer === env.CONVEX_SITE_URL) return subject.split("|")[0] ?? subject;
  // Clerk, Auth0 and other providers: the issuer and the user's id there.
  return tokenIdentifier;
}

/** The signed-in user and what the app knows about it. */
export async function memberOf(ctx: QueryCtx) {
  const caller = await callerOf(ctx);
  return { caller, ...(await recordOf(ctx, caller)) };
}

/** The plan of any user, for callers that an API key identifies. */
export async function planOf(ctx: QueryCtx, caller: string) {
  return (await recordOf(ctx, caller)).plan;
}

async function recordOf(ctx: QueryCtx, caller: string) {
  const members = ctx.db.query("members").withIndex("by_caller", (q) => q.eq("caller", caller));
  const { plan = "free", isAdmin = false } = (await members.unique()) ?? {};
  return { plan, isAdmin };
}

export async function checkAdmin(ctx: QueryCtx): Promise<void> {
  const { isAdmin } = await memberOf(ctx);
  if (!isAdmin) throw new ConvexError({ kind: "NotAnAdmin" });
}

/**
 * The network address of the client that called a mutation or action. A client can forge it unless a proxy of yours writes the
 * header, so it must not be the only key. Calls without an address share one bucket.
 */
export async function addressOf({ meta }: { meta: { getRequestMetadata: () => Promise<RequestMetadata> } }) {
  const { ip } = await meta.getRequestMetadata();
  return callerAddress(ip) ?? "no address";
}
