/**
 * What a limit does, for both homes: read the clock and the dice once, read as few rows as will do, decide, write. Home A calls
 * these with the app's ctx.db, the component's registered functions with its own.
 */
import { ask, askAbout } from "./ask.js";
import { checkKey, checkName } from "../engine/demand.js";
import { loadAll, openParts, saveParts } from "../storage/parts.js";
import type { Place, Request } from "../engine/request.js";
import { snapshotOf } from "../engine/snapshot.js";
import { type BucketId, deleteRow, type Reader, readRows, type Writer } from "../storage/rows.js";
import type { RateLimitSnapshot, RateLimitStatus } from "../validators.js";

/** Takes the tokens, or says when; a denial writes nothing. */
export async function consume(ctx: Writer, request: Request): Promise<RateLimitStatus> {
  const known = openParts(request, Date.now());
  const { status, taken } = await ask(ctx, known, request.demand, Math.random());
  await saveParts(ctx, known, taken);
  return status;
}

/** The same decision, taking nothing; of a sharded limit, with a look at everything. */
export async function check(ctx: Reader, request: Request): Promise<RateLimitStatus> {
  return (await askAbout(ctx, openParts(request, Date.now()), request.demand)).status;
}

/** The stored state, without a look at the clock. */
export async function get(ctx: Reader, place: Place): Promise<RateLimitSnapshot> {
  // The parts are wanted as they are stored, so no moment is asked for.
  return snapshotOf(place.limit, await loadAll(ctx, openParts(place, 0)));
}

/** Forgets the bucket: no row means full. */
export async function reset(ctx: Writer, bucket: BucketId): Promise<null> {
  checkName(bucket.name);
  checkKey(bucket.name, bucket.key);
  for (const row of await readRows(ctx, bucket)) await deleteRow(ctx, row);
  return null;
}
