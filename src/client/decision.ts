/** The end of a decision: it is returned, thrown, or let through in shadow. */
import type { RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import type { CompleteRequest } from "./definitions.js";
import type { RateLimitsOptions } from "./definitionTypes.js";
import { denialError } from "./errors.js";

export function concludeOne(
  request: CompleteRequest,
  status: RateLimitStatus,
  options: RateLimitsOptions,
): RateLimitStatus {
  const [answer = status] = conclude([request], [status], options);
  return answer;
}

/**
 * The statuses as the caller gets them: one per request.
 * @throws a denial, if the call or the definitions say so. If several limits denied, it is the longest: callers have to
 * wait for it.
 */
export function conclude(
  requests: readonly CompleteRequest[],
  statuses: readonly RateLimitStatus[],
  options: RateLimitsOptions,
): RateLimitStatus[] {
  const denials = statuses.flatMap((status, i) => {
    const request = requests[i];
    return request && !request.shadow && !status.ok ? [{ request, status }] : [];
  });
  const [longest] = [...denials].sort((a, b) => b.status.retryAt - a.status.retryAt);
  // The longest denial is thrown as it would be by itself, if it would be thrown.
  const throws = [longest, ...denials].map((each) => each?.request.throws).find(Boolean);
  if (throws && longest) throw denialError(longest.request, longest.status, throws, options);
  return statuses.map((status, i) => letThrough(requests[i], status));
}

/** Of a limit in shadow: as if there were no limit, and the true answer. */
function letThrough(request: CompleteRequest | undefined, status: RateLimitStatus): RateLimitStatus {
  if (!request?.shadow) return status;
  const { remaining, resetAt, policy } = status;
  // Tokens that were not taken do not come back: 0 is before every take.
  const { takenAt = 0, lease } = status.ok ? status : {};
  const { policy: _, ...shadow } = status;
  return present({
    ok: true,
    remaining,
    resetAt,
    takenAt: request.refundable ? takenAt : undefined,
    lease,
    shadow,
    policy,
  });
}

/**
 * The status of a call that takes slots. If it took none (in shadow, under an override of another kind), it has a lease
 * that holds none: 0 is before every take.
 */
export function leased(request: CompleteRequest | undefined, status: RateLimitStatus): RateLimitStatus {
  if (!request || !status.ok || status.lease || !("lease" in request.config)) return status;
  const { name, key, config } = request;
  return { ...status, lease: present({ name, key, takenAt: 0, until: config.lease }) };
}
