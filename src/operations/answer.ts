/** The answer of one bucket to one demand, also under an override of its limit, and the write that makes it true. */
import { renewsAt } from "../engine/decide.js";
import { dateIn } from "../engine/headroom.js";
import type { Limit, State } from "../engine/kinds/kind.js";
import type { Override } from "../engine/override.js";
import { isServable, neverServedError, type Request, requestTo } from "../engine/request.js";
import type { Bucket } from "../engine/bucket.js";
import { adjustOnAll, decideOnAll, describeWhole, servedFrom } from "../engine/sharding/pool.js";
import { fold } from "../engine/sharding/shard.js";
import { END_OF_TIME } from "../engine/time.js";
import { MAX_TOKENS } from "../engine/units.js";
import type { RowChange } from "../storage/rows.js";
import { changeOf, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";

/** The time and the randomness of one call. */
export interface Call {
  readonly now: number;
  /** Random numbers in [0, 1). */
  readonly random: () => number;
}

/** The answer of a bucket to a demand. Nothing has been written. */
export interface Answer {
  readonly status: RateLimitStatus;
  /** The write that makes it true; absent for a denial. */
  readonly change?: RowChange | undefined;
  /** The bucket as it was, if all its rows were read. */
  readonly before?: { readonly limit: Limit; readonly shards: readonly StoredShard[] };
}

/** The status of the bucket if nothing is taken from it; of one of which only some rows were read, no more than that. */
export function untouched({ before, status: { override } }: Answer, now: number): RateLimitStatus {
  const status: RateLimitStatus = before ? describeWhole(before.limit, before.shards, now) : { ok: true };
  return override ? { ...status, override } : status;
}

/** The answer of a call that has read all shards of a bucket. */
export function answerOnAll(request: Request, shards: readonly StoredShard[], now: number): Answer {
  const { limit, demand } = request;
  const { status, left } = decideOnAll(limit, shards, now, demand);
  return {
    status: renewing(request, status, now, () => fold(limit, left, now).state),
    change: changeOf(request, shards, left),
    before: { limit, shards },
  };
}

/** The status of a request that asks when tokens come back; of any other the status as it is. @param after - the state that is left. */
export function renewing(request: Request, status: RateLimitStatus, now: number, after: () => State): RateLimitStatus {
  const { limit, asked } = request;
  if (!asked.renews || !status.ok) return status;
  return present({ ...status, renewsAt: renewsAt(limit, after(), asked.count ?? 1, now) });
}

/** The answer of a call that is always let through. */
function answerCharging(request: Request, shards: readonly StoredShard[], now: number): Answer {
  const { limit, demand } = request;
  const left = adjustOnAll(limit, shards, now, demand);
  // One row may have a later time: of a pause, or of a clock ahead. Units taken from several are dated by the clock (pool.ts).
  const date = Math.max(now, ...(left.length === 1 ? left : []).map(({ state }) => dateIn(state)));
  return {
    status: { ...describeWhole(limit, left, now), ...(demand.isRefundable && { takenAt: date }) },
    change: changeOf(request, shards, left),
    before: { limit, shards },
  };
}

/** How to ask a bucket, under any override of its limit. */
interface Asking {
  readonly now: number;
  readonly ask: (request: Request) => Answer | Promise<Answer>;
  /** All shards of a bucket. */
  readonly load: (bucket: Bucket) => readonly StoredShard[] | Promise<readonly StoredShard[]>;
}

/**
 * The answer of a bucket whose limit may be overridden. A denial looks beyond the end of the override, when the limit's own config
 * holds again. So `retryAt` is the first time at which the same call succeeds.
 * @param override - the one in force.
 * @throws when the count can never be served.
 */
export async function answerUnder(override: Override | undefined, request: Request, asking: Asking): Promise<Answer> {
  if (override?.unlimited) return showing({ unlimited: true }, request, await letThrough(request, asking));
  if (override?.limit) {
    return showing({ config: override.limit.config }, request, await answerAs(override, request, asking));
  }
  if (!isServable(request)) throw neverServedError(request.limit, request.asked);
  return override ? await block(override, request, asking) : await asking.ask(request);
}

/** The answer to a request that asks what overrides the limit. */
function showing(override: RateLimitStatus["override"], { asked }: Request, answer: Answer): Answer {
  return asked.renews ? { ...answer, status: { ...answer.status, override } } : answer;
}

/** The bucket under another config: what is asked of it in tokens is asked in the units of that. */
async function answerAs(override: Override & { limit: Limit }, request: Request, asking: Asking): Promise<Answer> {
  const own = requestTo({ ...request, limit: override.limit }, request.asked);
  const answer = isServable(own) ? await asking.ask(own) : await refuse(own, request, asking);
  const { status } = answer;
  if (!status.ok && status.retryAt >= override.until) {
    return { ...answer, status: { ...status, retryAt: await whenServedAfter(override, request, asking) } };
  }
  return answer;
}

/** More than the override lets the bucket hold: for as long as it is in force, no wait is long enough. */
async function refuse(own: Request, request: Request, { load, now }: Asking): Promise<Answer> {
  if (!isServable(request)) throw neverServedError(own.limit, request.asked);
  return { status: { ...describeWhole(own.limit, await load(own), now), ok: false, retryAt: END_OF_TIME } };
}

async function block(override: Override, request: Request, { load }: Asking): Promise<Answer> {
  const { until } = override;
  const { limit } = request;
  // Nothing needs to be read to deny for ever.
  const shards = until === END_OF_TIME ? undefined : await load(request);
  const status: RateLimitStatus = {
    ok: false,
    retryAt: shards ? servedFrom(limit, shards, until, request.demand) : END_OF_TIME,
    remaining: 0,
    resetAt: shards ? describeWhole(limit, shards, until).resetAt : END_OF_TIME,
    reason: "blocked",
  };
  return { status };
}

/** Takes what is there, and owes the rest: all that is asked for, though less would suffice. */
async function letThrough({ asked, ...bucket }: Request, { ask, load, now }: Asking): Promise<Answer> {
  // Beside an `atLeast` a count may be any number.
  const count = Math.min(asked.count ?? 1, MAX_TOKENS);
  const all = requestTo(bucket, { count, refundable: asked.refundable });
  const held = await ask(all);
  const answer = held.status.ok ? held : answerCharging(all, await load(all), now);
  if (asked.atLeast === undefined) return answer;
  return { ...answer, status: { ...answer.status, taken: count } as RateLimitStatus };
}

/** When the limit's own config lets the request go, once the override has ended. */
async function whenServedAfter({ until }: Override, request: Request, { load }: Asking): Promise<number> {
  if (until === END_OF_TIME || !isServable(request)) return END_OF_TIME;
  return servedFrom(request.limit, await load(request), until, request.demand);
}
