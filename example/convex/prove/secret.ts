/**
 * The functions of this folder make load on purpose and write what they are told, so nobody may call them: they run only on a
 * deployment whose environment variable PROVE_SECRET was set, for callers that know it. See example/README.md.
 */
import { ConvexError, v } from "convex/values";

/** All that functions have of it. */
declare const process: { readonly env: Readonly<Record<string, string | undefined>> };

export const secretArgs = { secret: v.string() };

/** A shorter secret could be guessed. */
const SHORTEST = 16;

export function isAdmitted(secret: string): boolean {
  const expected = process.env["PROVE_SECRET"] ?? "";
  return expected.length >= SHORTEST && secret === expected;
}

/** @throws unless the caller may prove things on this deployment. */
export function admit(secret: string): void {
  if (isAdmitted(secret)) return;
  throw new ConvexError({
    kind: "NotProving",
    message: `Set PROVE_SECRET on the deployment to a text of at least ${SHORTEST} characters, and pass the same.`,
  });
}
