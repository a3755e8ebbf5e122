/** Errors that no client should see. */

/** Told of them; what it throws is logged, since the request has an answer already. */
export type Report = (error: unknown, request: Request) => void | Promise<void>;

export async function tell(report: Report = logged, error: unknown, request: Request): Promise<void> {
  try {
    await report(error, request);
  } catch (failure) {
    console.error("The report of a failed rate limit failed.", failure);
  }
}

function logged(error: unknown): void {
  console.error("The rate limits of a request could not be checked.", error);
}
