/** Errors that a call throws. */
import { isRateLimitError } from "convex-rate-limits";

/** The error that the call throws. If it throws nothing, the test fails. */
export async function thrownBy(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => {
      throw new Error("Nothing was thrown.");
    },
    (error: unknown) => error,
  );
}

/** The data of the denial that the call throws. Another error fails the test. */
export async function denialOf(call: Promise<unknown>) {
  const error = await thrownBy(call);
  if (!isRateLimitError(error)) throw error;
  return error.data;
}
