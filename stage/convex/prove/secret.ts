/**
 * The secret of this folder's functions. They make load on purpose and write what a caller passes, so the public may not call
 * them. They run only if the deployment's environment variable PROVE_SECRET is set, and for callers that know it. See
 * stage/README.md.
 */
import { ConvexError, v } from "convex/values";

/** Convex functions have no more of `process` than this. */
declare const process: { readonly env: Readonly<Record<string, string | undefined>> };

export const secretArgs = { secret: v.string() };

/** A shorter secret could be guessed. */
const SHORTEST = 16;

export function isAdmitted(secret: string): boolean {
  const expected = process.env["PROVE_SECRET"] ?? "";
  return expected.length >= SHORTEST && secret === expected;
}

/** @throws unless the caller knows the deployment's secret. */
export function admit(secret: string): void {
  if (isAdmitted(secret)) return;
  throw new ConvexError({
    kind: "NotProving",
    message: `Set PROVE_SECRET on the deployment to a text of at least ${SHORTEST} characters, and pass the same.`,
  });
}
