/** The end of a decision: `onDecision` gets it; then it is returned, thrown, or let through in shadow. */
import type { BucketArgs, CalledRequest } from "../engine/request.js";
import { MAX_TOKENS } from "../engine/units.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import type { JudgedRequest } from "./definitions.js";
import type { RateLimitDecision, RateLimitsOptions } from "./definitionTypes.js";
import { denialError } from "./errors.js";
import { type Ctx, type LimitSet, wakeQueue } from "./place.js";

interface Decision {
  readonly request: JudgedRequest;
  readonly status: RateLimitStatus;
}

export function decisionsOf(requests: readonly JudgedRequest[], statuses: readonly RateLimitStatus[]): Decision[] {
  return statuses.flatMap((status, i) => requests.slice(i, i + 1).map((request) => ({ request, status })));
}

export function concludeOne(decision: Decision, options: RateLimitsOptions): RateLimitStatus {
  const [status = decision.status] = conclude([decision], options);
  return status;
}

/**
 * The statuses as the caller gets them.
 * @throws a denial, if the call or the definitions say so. If several limits denied, it is the longest: callers have to wait for it.
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
  const { count = 1, atLeast, refundable } = asked;
  const { remaining, resetAt } = status;
  const taken = atLeast === undefined ? undefined : count;
  // Tokens that were not taken do not come back: 0 is before every take.
  const { takenAt = 0 } = status.ok ? status : {};
  return present({ ok: true, remaining, resetAt, taken, takenAt: refundable ? takenAt : undefined, shadow: status });
}

/** Passes decisions to `onDecision`, one after another, in the caller's transaction. If it throws, the call throws. */
export async function report(set: LimitSet, ctx: Ctx, decisions: readonly Decision[]): Promise<void> {
  const { onDecision } = set.options;
  if (!onDecision) return;
  // If one limit has denied, those that have not took nothing.
  const isDenied = denialsAmong(decisions).length > 0;
  await orGiveBack(set, ctx, isDenied ? [] : decisions, async () => {
    for (const { request, status } of decisions) {
      if (!isDenied || !status.ok) await onDecision(ctx as never, describe(request, status));
    }
  });
}

/**
 * Does what follows decisions that were charged. If that fails, the tokens come back, as from a cancelled reservation: a caller that
 * catches the error, or an action, would lose them.
 */
export async function orGiveBack<Result>(
  set: LimitSet,
  ctx: Ctx,
  decisions: readonly Decision[],
  follow: () => Promise<Result>,
): Promise<Result> {
  try {
    return await follow();
  } catch (error) {
    // Requests to one bucket were charged as one, so they come back as one: three thirds are 1, in units too. Those of a refundable take
    // come back by their date: in an action, other tokens may have come in since, and others may have taken.
    const taken = new Map<string, { bucket: BucketArgs; count: number; at: number; takenAt?: number | undefined }>();
    for (const { request, status } of decisions) {
      if (!status.ok) continue;
      const { bucket, asked } = request;
      const id = JSON.stringify([bucket.name, bucket.key]);
      const { takenAt, retryAt: at = takenAt ?? Date.now(), taken: count = asked.count ?? 1 } = status;
      const before = taken.get(id)?.count ?? 0;
      // As of a cancelled reservation, all of them: of a refund by date some may lapse.
      taken.set(id, { bucket, count: before + count, at, takenAt: takenAt === at ? undefined : takenAt });
    }
    for (const { bucket, count, at, takenAt } of taken.values()) {
      await set.place.adjust(ctx, { bucket, asked: { count: -Math.min(count, MAX_TOKENS), at, takenAt } });
      await wakeQueue(set, ctx, bucket);
    }
    throw error;
  }
}

/** The decision and its parts are copies, so that `onDecision` cannot change the originals. */
function describe({ bucket, asked, mode }: JudgedRequest, status: RateLimitStatus): RateLimitDecision {
  const { name, key, config, plan } = bucket;
  const { count = 1, atLeast, reserve = false } = asked;
  const { shards } = config;
  return {
    name,
    key,
    count,
    atLeast,
    reserve: typeof reserve === "object" ? { ...reserve } : reserve,
    status: { ...status },
    mode,
    config: { ...config, ...(typeof shards === "object" && { shards: { ...shards } }) },
    ...(typeof plan === "string" && { plan }),
  };
}
