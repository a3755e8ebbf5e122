/**
 * Taking tokens from one limit or several, and asking without taking. Clock and randomness are read once for each call.
 */
import { orderOf, type Request } from "../engine/request.js";
import { decide, type Timing } from "../engine/decide.js";
import { fullState, type Limit } from "../engine/kinds/kind.js";
import { nameOfRow, pointAt, WHOLE } from "../engine/sharding/interval.js";
import { overview } from "../engine/sharding/pool.js";
import { areAll } from "../engine/sharding/shard.js";
import { snapshotOf } from "../engine/snapshot.js";
import { fromStored, toStored } from "../engine/units.js";
import { END_OF_TIME } from "../engine/time.js";
import type { Bucket } from "../engine/bucket.js";
import { idOf, type Reader, readRows, type RowChange, write, type Writer } from "../storage/rows.js";
import { foundAmong } from "../storage/found.js";
import { shardsOf } from "../storage/shards.js";
import { pausedUntil } from "../engine/control.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { RateLimitAllStatus, RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import { answerUnder, describe } from "./answer.js";
import type { Answer } from "./split.js";
import { type Call, findTerms, startCall, type Terms, termsOf } from "./terms.js";

/** Takes the tokens, or says when; a denial writes nothing. */
export async function consume(ctx: Writer, request: Request): Promise<RateLimitStatus> {
  const { status, change, terms } = await answer(ctx, request, { now: Date.now(), random: Math.random });
  if (!change) return status;
  await write(ctx, change);
  const { limit } = terms.counted;
  if (limit.kind.release) return withLease(status, change, limit);
  const { reserve, isRefundable } = request.demand;
  return reserve && isRefundable ? withRow(status, change) : status;
}

/** A promise that may be cancelled was made on one of several rows, which stays: a cancel finds it. */
function withRow(status: RateLimitStatus, { rows, contents }: RowChange): RateLimitStatus {
  const [row, other] = rows;
  const stays = row?.shard !== undefined && !other && contents.length === 1 && contents[0]?.shard === row.shard;
  return stays ? ({ ...status, row: nameOfRow(row) } as RateLimitStatus) : status;
}

/** A slot was taken: the date of a take is the last of the log. */
function withLease(status: RateLimitStatus, { bucket, contents }: RowChange, { periodMs }: Limit): RateLimitStatus {
  const [content] = contents;
  const takenAt = Number(content?.recent?.at(-1)?.at);
  const lease = present({ ...idOf(bucket), takenAt, until: takenAt + periodMs, seen: content?.seen });
  return { ...status, lease } as RateLimitStatus;
}

/** An answer, and the terms under which it holds. */
interface Answered extends Answer {
  readonly terms: Pick<Terms, "counted" | "override" | keyof Timing>;
}

/**
 * Reads the bucket and its control row, finds the terms, and decides. Most calls meet one row, or none, and no control
 * row: they are decided at once.
 */
async function answer(ctx: Reader, asked: Request, call: Call): Promise<Answered> {
  const { limit, key, plan, demand } = asked;
  const { now } = call;
  if (limit.levels.most > 0) {
    const terms = await findTerms(ctx, asked, call);
    return { ...(await answerUnder(ctx, terms)), terms };
  }
  const rows = await readRows(ctx, asked);
  const [row] = rows;
  const isPlain = !row || (row.shard === undefined && row.bucket === limit.bucket && row.plan === plan);
  if (rows.length > 1 || !isPlain) {
    // An override or the stored plan may have a limit that is split.
    const found = foundAmong(asked, rows, pointAt(call.random()));
    const terms = termsOf(asked, found, call);
    return { ...(await answerUnder(ctx, terms)), terms };
  }
  const terms = { counted: asked, override: undefined, now, pausedUntil: 0 };
  const stored = row ? fromStored(limit, row, key) : fullState(limit);
  const { status, taken } = decide(limit, stored, terms, demand);
  return {
    status,
    change: taken && { bucket: asked, rows, contents: [toStored(limit, taken)] },
    shards: [{ interval: WHOLE, limit, state: stored, rows }],
    terms,
  };
}

/** The same decision, taking nothing. */
export async function check(ctx: Reader, request: Request): Promise<RateLimitStatus> {
  const { status } = await answer(ctx, request, startCall(true));
  return status;
}

/**
 * Takes what all the requests ask for, or nothing. One in shadow is charged if it can be, and stops none of the others.
 */
export async function consumeAll(ctx: Writer, requests: readonly Request[]): Promise<RateLimitAllStatus> {
  const { all, answers } = await answerAll(ctx, requests, startCall());
  if (!all.ok) return all;
  const statuses: RateLimitStatus[] = [];
  for (const { status, change, terms } of answers) {
    const { limit } = terms.counted;
    if (change) await write(ctx, change);
    statuses.push(change && limit.kind.release ? withLease(status, change, limit) : status);
  }
  return { ...all, statuses };
}

/** The same decision, taking nothing. */
export async function checkAll(ctx: Reader, requests: readonly Request[]): Promise<RateLimitAllStatus> {
  return (await answerAll(ctx, requests, startCall(true))).all;
}

/** One status from those of all the buckets; where one that is enforced denies, the others stay as they are. */
async function answerAll(ctx: Reader, requests: readonly Request[], call: Call) {
  const found: Promise<Answered>[] = [];
  for (const [place, request] of orderOf(requests)) found[place] = answer(ctx, request, call);
  const each = await Promise.all(found);
  const enforced = each.flatMap(({ status }, i) => (requests[i]?.asked.shadow ? [] : [status]));
  const denials = enforced.flatMap(({ ok, retryAt }) => (ok ? [] : [retryAt]));
  const answers = each.map((own, i) => {
    const { status, terms } = own;
    const shown = denials.length > 0 && status.ok ? untouched(own) : status;
    return { ...own, status: requests[i]?.asked.describes ? { ...shown, policy: describe(terms) } : shown };
  });
  const statuses = answers.map(({ status }) => status);
  if (denials.length > 0) {
    const unsure = requests.filter((own, i) => !own.asked.shadow && (own.demand.reserve || each[i]?.terms.override));
    const retryAt = await whenAllServe(ctx, unsure, call, Math.max(...denials));
    return { all: { ok: false as const, retryAt, statuses }, answers };
  }
  const waits = enforced.flatMap(({ retryAt }) => retryAt ?? []);
  const waiting = waits.length > 0 && { retryAt: Math.max(...waits) };
  return { all: { ok: true as const, ...waiting, statuses }, answers };
}

/**
 * When all let the requests go, from the latest denial on. A bucket that serves now also serves later, unless its
 * override has ended by then, or a reservation would wait too long: so those are asked again at that time. An override
 * ends once; how often a reservation would wait too long, nobody knows.
 */
async function whenAllServe(ctx: Reader, unsure: readonly Request[], call: Call, from: number): Promise<number> {
  const MOST_TRIES = 20;
  let time = from;
  for (let tries = 0; tries < MOST_TRIES + unsure.length && time < END_OF_TIME; tries++) {
    const later = { ...call, now: time, isCheck: true };
    const each = await Promise.all(unsure.map((request) => answer(ctx, request, later)));
    const next = Math.max(time, ...each.map(({ status }) => (status.ok ? 0 : status.retryAt)));
    if (next === time) break;
    time = next;
  }
  return time;
}

/**
 * The status of the bucket if nothing is taken from it; of one of which only some rows were read, no more than that.
 */
function untouched({ shards, terms }: Answered): RateLimitStatus {
  return { ok: true, ...(areAll(shards) && overview(terms.counted.limit, shards, terms)) };
}

/** The stored state, the same at any time. */
export async function get(ctx: Reader, asked: Bucket): Promise<RateLimitSnapshot> {
  const found = foundAmong(asked, await readRows(ctx, asked));
  // Not the time of the clock: a live query that reads it is not cached. An override that has ended is also shown.
  const { bucket, override } = termsOf(asked, found, { now: 0, random: Math.random });
  const { plan } = bucket;
  const paused = pausedUntil(found.control);
  const under = (limit: Limit) => snapshotOf(limit, shardsOf({ ...bucket, limit }, found), paused);
  const named = typeof plan === "string" && { plan };
  const snapshot = { ...under(bucket.limit), ...named };
  if (!override) return snapshot;
  const { limit, ...held } = override;
  // A block is a pause until its end.
  const block = held.reason && { pausedUntil: Math.max(paused, held.until) };
  // More is added to the plan, which still holds.
  const isAdded = found.control.override?.more !== undefined;
  const inForce = limit ? { ...under(limit), ...(isAdded && named) } : snapshot;
  return { ...snapshot, override: { ...inForce, ...held, ...block } };
}
