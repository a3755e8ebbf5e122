/**
 * Changes that no bucket is asked about: charging what was really used, giving back what was not, freeing a slot,
 * pausing, forgetting.
 */
import { type Adjustment, adjustmentOf, parsePause } from "../engine/adjustment.js";
import { type Control, withoutPause, withPause, withReset } from "../engine/control.js";
import type { Slot } from "../engine/request.js";
import { checkBucket } from "../engine/names.js";
import { isPart, nameOfRow, startOf, WHOLE } from "../engine/sharding/interval.js";
import { isFast } from "../engine/sharding/policy.js";
import { adjustOnAll, adjustOnSome, isForgone, overview } from "../engine/sharding/pool.js";
import { areAll, heldBy, heldByAll, type Shard, sumOf } from "../engine/sharding/shard.js";
import * as storage from "../storage/rows.js";
import type { Writer } from "../storage/rows.js";
import { controlAmong, find, foundAmong, isOf } from "../storage/found.js";
import { changeOf, loadAll, loadAt, loadFirst, shardsOf, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import { describe } from "./answer.js";
import { areJustWritten, reshaped } from "./split.js";
import { startCall, type Terms, termsOf } from "./terms.js";

/** Charges units without asking, or gives them back. */
export async function adjust(ctx: Writer, given: Adjustment): Promise<RateLimitStatus> {
  const call = startCall();
  const from = startOf(given.asked.row ?? "");
  const terms = termsOf(given, await find(ctx, given, from ?? call.random()), call);
  const { counted, found, now } = terms;
  // Under the limit that it was parsed for, the units stay: a settlement has its own.
  const adjustment = counted.limit === given.limit ? terms.bucket : adjustmentOf(counted, given.asked);
  const { limit, asked, units } = adjustment;
  const first = await loadFirst(ctx, adjustment, found);
  const changes = units !== 0 && !isOfNobody(adjustment, first);
  const left = changes ? await adjustFew(ctx, { ...terms, counted: adjustment }, first) : [first];
  const policy = asked.describes && { policy: describe(terms) };
  if (!areAll(left)) return { ok: true, ...policy };
  // `retryAt` of a bucket in debt is when the debt is paid.
  const owes = heldByAll(left, now) < 0;
  const retryAt = owes
    ? Math.max(...left.map((own) => own.limit.kind.whenHolding(own.limit, own.state, 0)))
    : undefined;
  return present({ ok: true, retryAt, ...overview(limit, left, terms), ...policy });
}

/**
 * Whether tokens come back that nobody can have taken: what takes tokens writes the row, so its last write is no
 * earlier.
 */
function isOfNobody({ units, taking }: Adjustment, { interval, rows }: StoredShard): boolean {
  if (units >= 0 || interval !== WHOLE || !taking) return false;
  // A log says itself what was taken, also for later.
  return rows.every(({ ts, recent }) => !recent && taking.takenAt > ts);
}

/** Several adjustments in their order: two may be of one bucket. */
export async function adjustAll(ctx: Writer, adjustments: readonly Adjustment[]): Promise<RateLimitStatus[]> {
  const statuses: RateLimitStatus[] = [];
  for (const adjustment of adjustments) statuses.push(await adjust(ctx, adjustment));
  return statuses;
}

/**
 * Adjusts one row of several, or a few. One or two pay a charge. A refund goes to others where these have no room for
 * it: tokens of a cancelled job may be another row's.
 */
async function adjustFew(ctx: Writer, terms: Terms<Adjustment>, first: StoredShard): Promise<readonly Shard[]> {
  // To read all rows would conflict with every call. A refund reads at most this many more, one by one; if the limit is
  // fast, what they have no room for lapses.
  const MOST_LOOKS = 16;
  // Rows with less than this many times the refund rarely have room for it.
  const ROOM = 4;
  const { counted: adjustment, now, random, found } = terms;
  const { units, limit, asked, taking } = adjustment;
  const isCharge = units > 0;
  // A row that has made the promise knows what comes back, as a bucket of one row does.
  const isPromiser = first.rows.some((row) => nameOfRow(row) === asked.row);
  const given = isPromiser ? { ...adjustment, promiser: first.interval } : adjustment;
  const isForgotten = taking !== undefined && taking.startsAt < (found.control.reset?.at ?? 0);
  const isLost = !isCharge && (isForgotten || isForgone(limit, now, given));
  let rows: readonly StoredShard[] = [first];
  const isEnough = first.interval === WHOLE || !isCharge || heldBy(first, now) >= units;
  let few = isEnough ? adjustOnSome(rows, now, given, isLost) : undefined;
  for (let looks = 1; !few && looks <= MOST_LOOKS; looks++) {
    const next = await loadAt(ctx, adjustment, found, random());
    if (rows.every(({ interval }) => interval !== next.interval)) rows = [...rows, next];
    const isWide = rows.length > 1 && sumOf(rows, (row) => row.limit.capacity) >= ROOM * -units;
    const lapses = isFast(limit, -units) && (isWide || looks === MOST_LOOKS) && !areJustWritten(rows, now);
    few = adjustOnSome(rows, now, given, lapses);
  }
  if (!few) {
    rows = await loadAll(ctx, adjustment, found);
    few = adjustOnAll(rows, now, given);
  }
  const [after] = few;
  // One row that was charged may be split, also if it owes.
  const change =
    isCharge && rows.length === 1 && after
      ? await reshaped(ctx, terms, { before: first, after, demand: { units, reserve: false } })
      : changeOf(adjustment, rows, few);
  await storage.write(ctx, change);
  return few;
}

/**
 * Frees the slot of a lease. One that has ended, was released, or is from before a reset holds none: nothing is
 * written.
 */
export async function release(ctx: Writer, { bucket, takenAt, until, seen = 0 }: Slot): Promise<null> {
  if (!(Date.now() < until)) return null;
  const { limit } = bucket;
  const found = foundAmong(bucket, await storage.readRows(ctx, bucket));
  const { control, rows } = found;
  if (control.reset && !(seen >= control.reset.count)) return null;
  // The row keeps the plan that it was written under.
  const held = { ...bucket, plan: rows.find((row) => isOf(limit, row))?.plan };
  for (const before of shardsOf(bucket, found)) {
    const state = limit.kind.release?.(limit, before.state, takenAt);
    if (state && state !== before.state) await storage.write(ctx, changeOf(held, [before], [{ ...before, state }]));
  }
  return null;
}

/**
 * Pauses a bucket by one write of its control row: its other rows stay. A time that has passed, or by which it is
 * paused, writes nothing.
 * @throws when the time is more than five years ahead.
 */
export async function pause(
  ctx: Writer,
  { until: asked, ...bucket }: storage.BucketId & { until: number },
): Promise<null> {
  const now = Date.now();
  checkBucket(bucket);
  const until = parsePause(bucket.name, asked, now);
  if (until > now) await changeControl(ctx, bucket, (control) => withPause(control, now, until));
  return null;
}

/** Writes what follows from a control row in its place, if that is another. */
async function changeControl(
  ctx: Writer,
  bucket: storage.BucketId,
  next: (control: Control) => Control,
): Promise<void> {
  const rows = await storage.readControl(ctx, bucket);
  const control = controlAmong(bucket, rows);
  const after = next(control);
  if (after !== control) await storage.writeControl(ctx, bucket, rows, after);
}

/**
 * Forgets what was taken from the buckets of a key, and ends a pause: they are full. Overrides stay. A bucket that is
 * split forgets by its control row, since its rows are many. A bucket whose tokens may come back does the same:
 * otherwise a later cancel would take from others.
 */
export async function reset(ctx: Writer, bucket: storage.BucketId): Promise<null> {
  checkBucket(bucket);
  const last = await storage.readLast(ctx, bucket);
  if (!last) return null;
  const isSplit = isPart(last.shard ?? "");
  const rows = isSplit ? [] : await storage.readRows(ctx, bucket);
  const own = rows.filter((row) => !storage.isControl(row));
  if (own.length > 0) await storage.write(ctx, { bucket, rows: own, contents: [] });
  const remembers = isSplit || own.some(({ headroom, recent }) => headroom !== undefined || recent !== undefined);
  const promised = Math.max(0, ...[last, ...own].flatMap(({ recent = [] }) => recent.map(({ at }) => at)));
  if (remembers) await changeControl(ctx, bucket, (control) => withReset(control, Date.now(), promised));
  else if (rows.length > own.length) await changeControl(ctx, bucket, withoutPause);
  return null;
}
