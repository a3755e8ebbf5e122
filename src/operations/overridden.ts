/**
 * A bucket whose limit may be overridden: what it answers. A denial looks beyond the end of the override, when the limit's own
 * config holds again. So `retryAt` is the first time at which the same call succeeds.
 */
import type { Override } from "../engine/override.js";
import { type Bucket, isServable, neverServedError, type Request, requestTo } from "../engine/request.js";
import { servedFrom, describeWhole } from "../engine/sharding/pool.js";
import type { StoredShard } from "../storage/shards.js";
import { END_OF_TIME } from "../engine/time.js";
import { MAX_TOKENS } from "../engine/units.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { type Answer, answerCharging, untouched } from "./answer.js";

/** How to ask a bucket, under any override of its limit. */
interface Asking {
  readonly now: number;
  readonly ask: (request: Request) => Answer | Promise<Answer>;
  /** All shards of a bucket. */
  readonly load: (bucket: Bucket) => readonly StoredShard[] | Promise<readonly StoredShard[]>;
}

/** @param override - the one in force. @throws when the count can never be served. */
export async function answerUnder(override: Override | undefined, request: Request, asking: Asking): Promise<Answer> {
  if (override?.does === "unlimit") return showing({ unlimited: true }, request, await letThrough(request, asking));
  if (override?.does === "configure") {
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
async function answerAs(override: Override & { does: "configure" }, request: Request, asking: Asking): Promise<Answer> {
  const own = requestTo({ ...request, limit: override.limit }, request.asked);
  const answer = isServable(own) ? await asking.ask(own) : await refuse(own, request, asking);
  const { status } = answer;
  if (!status.ok && status.retryAt >= override.until) {
    return { ...answer, status: { ...status, retryAt: await whenServedAfter(override, request, asking) } };
  }
  return answer;
}

/** More than the override lets the bucket hold: for as long as it is in force, no wait is long enough. */
async function refuse(own: Request, request: Request, { ask, now }: Asking): Promise<Answer> {
  if (!isServable(request)) throw neverServedError(own.limit, request.asked);
  const nothing = await ask({ ...own, demand: { units: 0, reserve: false, withinMs: Infinity } });
  return { status: { ...untouched(nothing, now), ok: false, retryAt: END_OF_TIME } };
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
  const held = all.demand.units <= bucket.limit.capacity ? await ask(all) : undefined;
  const answer = held?.status.ok ? held : answerCharging(all, await load(all), now);
  if (asked.atLeast === undefined) return answer;
  return { ...answer, status: { ...answer.status, taken: count } as RateLimitStatus };
}

/** When the limit's own config lets the request go, once the override has ended. */
async function whenServedAfter({ until }: Override, request: Request, { load }: Asking): Promise<number> {
  if (until === END_OF_TIME || !isServable(request)) return END_OF_TIME;
  return servedFrom(request.limit, await load(request), until, request.demand);
}
