/** The end of a decision: it is returned, thrown, or let through in shadow. */
import type { CalledRequest } from "../engine/request.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import type { CompleteRequest } from "./definitions.js";
import type { RateLimitsOptions } from "./definitionTypes.js";
import { denialError } from "./errors.js";

interface Decision {
  readonly request: CompleteRequest;
  readonly status: RateLimitStatus;
}

export function decisionsOf(requests: readonly CompleteRequest[], statuses: readonly RateLimitStatus[]): Decision[] {
  return statuses.flatMap((status, i) => requests.slice(i, i + 1).map((request) => ({ request, status })));
}

export function concludeOne(decision: Decision, options: RateLimitsOptions): RateLimitStatus {
  const [status = decision.status] = conclude([decision], options);
  return status;
}

/**
 * The statuses as the caller gets them.
 * @throws a denial, if the call or the definitions say so. If several limits denied, it is the longest: callers have to
 * wait for it.
 */
export function conclude(decisions: readonly Decision[], options: RateLimitsOptions): RateLimitStatus[] {
  const denials = denialsAmong(decisions);
  const [longest] = [...denials].sort((a, b) => b.status.retryAt - a.status.retryAt);
  // The longest denial is thrown as it would be by itself, if it would be thrown.
  const throws = [longest, ...denials].map((each) => each?.request.throws).find(Boolean);
  if (throws && longest) throw denialError(longest.request.bucket, longest.status, throws, options);
  return decisions.map(({ request, status }) => (request.mode === "shadow" ? letThrough(request, status) : status));
}

/** A limit in shadow denies nothing. */
function denialsAmong(decisions: readonly Decision[]) {
  return decisions.flatMap(({ request, status }) =>
    request.mode === "enforce" && !status.ok ? [{ request, status }] : [],
  );
}

/** As if there were no limit, and the true answer. */
function letThrough({ asked }: CalledRequest, status: RateLimitStatus): RateLimitStatus {
  const { remaining, resetAt, policy } = status;
  // Tokens that were not taken do not come back: 0 is before every take.
  const { takenAt = 0, lease } = status.ok ? status : {};
  const { policy: _, ...shadow } = status;
  return present({
    ok: true,
    remaining,
    resetAt,
    takenAt: asked.refundable ? takenAt : undefined,
    lease,
    shadow,
    policy,
  });
}

/**
 * The status of a call that takes slots. If it took none (in shadow, under an override of another kind), it has a lease
 * that holds none: 0 is before every take.
 */
export function leased({ bucket }: CalledRequest, status: RateLimitStatus): RateLimitStatus {
  const { name, key, config } = bucket;
  if (!status.ok || status.lease || !("lease" in config)) return status;
  return { ...status, lease: present({ name, key, takenAt: 0, until: config.lease }) };
}
