/** The backend of example/ on convex-test, and its users. */
import { register } from "convex-rate-limits/test";
import { convexTest } from "convex-test";
import schema from "../../example/convex/schema.js";

const modules = import.meta.glob(["../../example/convex/**/*.{ts,js}", "!**/*.d.ts", "!**/convex.config.ts"]);

const ISSUER = "https://clerk.example";

export function openExample() {
  const t = convexTest({ schema, modules });
  register(t);
  return t;
}

export type Example = ReturnType<typeof openExample>;

/** The key of a user who signs in at the provider of these tests. */
export const callerNamed = (subject: string) => `${ISSUER}|${subject}`;

/** A user who is signed in, as `callerOf` knows it. Without a plan the app has no row about the user. */
export async function signIn(t: Example, subject: string, member?: { plan?: "free" | "pro"; isAdmin?: boolean }) {
  const caller = callerNamed(subject);
  if (member) {
    await t.run(async (ctx) => {
      await ctx.db.insert("members", { caller, plan: "free", isAdmin: false, ...member });
    });
  }
  return t.withIdentity({ issuer: ISSUER, subject, tokenIdentifier: caller });
}
