/** Stands in until the calls themselves answer `reason: "too large"`: then this file and its use in visit.ts go. */
import { parseBucket } from "../engine/request.js";
import { unitsOf } from "../engine/units.js";
import type { RateLimitStatus } from "../wire/answers.js";
import type { LimitRequest } from "./ask.js";

const TOO_LARGE = { ok: false, reason: "too large" } as unknown as RateLimitStatus & { ok: false };

/** Whether a request asks for more than its bucket can ever hold. */
function isTooLarge(request: LimitRequest): boolean {
  const { limit } = parseBucket(request);
  return !(unitsOf(limit, request.count ?? 1) <= limit.kind.most(limit, false));
}

/** Asks for the requests that a bucket can hold, unless an enforced one is too large. */
export async function askFitting(
  requests: readonly LimitRequest[],
  ask: (fitting: LimitRequest[]) => Promise<RateLimitStatus[]>,
): Promise<RateLimitStatus[]> {
  const large = requests.filter(isTooLarge);
  if (large.some(({ shadow }) => !shadow)) {
    return requests.map((request) => (large.includes(request) ? TOO_LARGE : { ok: true }));
  }
  const fitting = requests.filter((request) => !large.includes(request));
  const statuses = fitting.length > 0 ? await ask(fitting) : [];
  return requests.flatMap((request) => statuses[fitting.indexOf(request)] ?? { ok: true, shadow: TOO_LARGE });
}
