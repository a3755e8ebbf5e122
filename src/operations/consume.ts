/**
 * Taking tokens from one limit or several, and asking without taking. A bucket that is always one row is read, decided and written
 * here; one that may be split goes through split.ts. Clock and randomness are read once for each call.
 */
import type { Bundle } from "../engine/bundle.js";
import { decide } from "../engine/decide.js";
import { fullState } from "../engine/kinds/kind.js";
import type { Request } from "../engine/request.js";
import { WHOLE } from "../engine/sharding/interval.js";
import { snapshotOf } from "../engine/snapshot.js";
import { fromStored, toStored } from "../engine/units.js";
import { asWritten, type Bucket } from "../engine/bucket.js";
import { type Reader, readOverrideRows, readRows, type Row, write, type Writer } from "../storage/rows.js";
import { loadAll, planOf, shardsOf } from "../storage/shards.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { RateLimitAllStatus, RateLimitStatus } from "../wire/answers.js";
import { type Answer, answerOnAll, answerUnder, type Call, untouched } from "./answer.js";
import { overrideAmong } from "./override.js";
import { answerSplit } from "./split.js";

/** Takes the tokens, or says when; a denial writes nothing. */
export async function consume(ctx: Writer, request: Request): Promise<RateLimitStatus> {
  const { status, change } = await answer(ctx, request, { now: Date.now(), random: Math.random });
  if (change) await write(ctx, change);
  return status;
}

/** The same decision on all rows, taking nothing. */
export async function check(ctx: Reader, request: Request): Promise<RateLimitStatus> {
  const now = Date.now();
  const { status } = await answerOnRows(request, await readRows(ctx, request), now);
  return status;
}

/** Takes what all the requests ask for, or nothing. One in shadow is charged if it can be, and stops none of the others. */
export async function consumeAll(ctx: Writer, bundle: Bundle): Promise<RateLimitAllStatus> {
  const call: Call = { now: Date.now(), random: Math.random };
  const answers = await Promise.all(bundle.summed.map((request) => answer(ctx, request, call)));
  const all = combine(bundle, answers, call.now);
  if (!all.ok) return all;
  for (const { change } of answers) if (change) await write(ctx, change);
  return all;
}

/** The same decision on all rows, taking nothing. */
export async function checkAll(ctx: Reader, bundle: Bundle): Promise<RateLimitAllStatus> {
  const now = Date.now();
  const answers = bundle.summed.map(async (request) => answerOnRows(request, await readRows(ctx, request), now));
  return combine(bundle, await Promise.all(answers), now);
}

/** The answer of all rows of a bucket, with its override. */
export async function answerOnRows(request: Request, rows: readonly Row[], now: number): Promise<Answer> {
  const load = (own: Bucket) => shardsOf(own, rows);
  const ask = (own: Request) => answerOnAll(own, load(own), now);
  return await answerUnder(overrideAmong(request, rows, now), request, { now, ask, load });
}

/** The stored state, the same at any time. */
export async function get(ctx: Reader, asked: Bucket): Promise<RateLimitSnapshot> {
  const rows = await readRows(ctx, asked);
  const bucket = asWritten(asked, planOf(rows));
  const { plan } = bucket;
  const snapshot = { ...snapshotOf(bucket.limit, shardsOf(bucket, rows)), ...(typeof plan === "string" && { plan }) };
  const override = overrideAmong(bucket, rows);
  if (!override?.limit) return override ? { ...snapshot, override } : snapshot;
  const { limit, until } = override;
  return { ...snapshot, override: { ...snapshotOf(limit, shardsOf({ ...bucket, limit }, rows)), until } };
}

async function answer(ctx: Reader, request: Request, call: Call): Promise<Answer> {
  const { limit, key, demand, asked, isOverridable } = request;
  if (limit.levels.most > 0) return await (isOverridable ? answerOverridable : answerSplit)(ctx, request, call);
  const rows = await readRows(ctx, request);
  const [row] = rows;
  const { now } = call;
  const isPlain = !isOverridable && !asked.renews && rows.length < 2 && row?.shard === undefined;
  if (!isPlain) return await answerOnRows(request, rows, now);
  const stored = row ? fromStored(limit, row, key) : fullState(limit);
  const { status, taken } = decide(limit, stored, now, demand);
  return {
    status,
    change: taken && { bucket: request, rows, contents: [toStored(limit, taken)] },
    before: { limit, shards: [{ interval: WHOLE, limit, state: stored, rows }] },
  };
}

/** The answer of a bucket that may be split: its override is read first. */
async function answerOverridable(ctx: Reader, request: Request, call: Call): Promise<Answer> {
  const { now } = call;
  const override = overrideAmong(request, await readOverrideRows(ctx, request), now);
  const ask = (own: Request) => answer(ctx, { ...own, isOverridable: false }, call);
  return await answerUnder(override, request, { now, ask, load: (own) => loadAll(ctx, own) });
}

/** One status from those of all the buckets; where one that is enforced denies, the others stay as they are. */
function combine({ requests, partOf }: Bundle, answers: readonly Answer[], now: number): RateLimitAllStatus {
  const own = partOf.flatMap((place) => answers.slice(place, place + 1));
  const enforced = own.flatMap(({ status }, i) => (requests[i]?.asked.shadow ? [] : [status]));
  const denials = enforced.flatMap(({ ok, retryAt }) => (ok ? [] : [retryAt]));
  if (denials.length > 0) {
    const statuses = own.map((answer) => (answer.status.ok ? untouched(answer, now) : answer.status));
    return { ok: false, retryAt: Math.max(...denials), statuses };
  }
  const statuses = own.map(({ status }) => status);
  const waits = enforced.flatMap(({ retryAt }) => (retryAt === undefined ? [] : [retryAt]));
  return { ok: true, ...(waits.length > 0 ? { retryAt: Math.max(...waits) } : {}), statuses };
}
