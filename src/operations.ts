/**
 * What a limit does, for both homes: read the clock and the dice once, read as few rows as will do, decide, write. Home A calls
 * these with the app's ctx.db, the component's registered functions with its own.
 */
import { serve } from "./engine/decide.js";
import { checkKey, checkName } from "./engine/demand.js";
import { ROOT } from "./engine/heap.js";
import { decideOnAll, denyOn, isPromising, planProbing } from "./engine/probe.js";
import { foldInto } from "./engine/reshard.js";
import type { Decision, Part } from "./engine/types.js";
import { loadAll, loadPart, openParts, type Parts, saveParts } from "./parts.js";
import type { Place, Request } from "./request.js";
import { snapshotOf } from "./snapshot.js";
import { type BucketId, deleteRow, type Reader, readRows, type Writer } from "./store.js";
import type { RateLimitSnapshot, RateLimitStatus } from "./validators.js";

/** Takes the tokens, or says when; a denial writes nothing. */
export async function consume(ctx: Writer, request: Request): Promise<RateLimitStatus> {
  const known = openParts(request, Date.now());
  const { status, taken } =
    request.limit.shards === 1 ? await askWhole(ctx, known, request) : await askShards(ctx, known, request);
  if (taken.length > 0) await saveParts(ctx, known, taken);
  return status;
}

/** The same decision, taking nothing; of a sharded limit, with a look at everything. */
export async function check(ctx: Reader, request: Request): Promise<RateLimitStatus> {
  const known = openParts(request, Date.now());
  const parts = await loadAll(ctx, known);
  return decideOnAll(request.limit, parts, known.now, request.demand).status;
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

/** An unsharded limit: one range holds its row, and whatever a larger number of shards has left behind to be folded. */
async function askWhole(ctx: Reader, known: Parts, { limit, demand }: Request): Promise<Decision> {
  const parts = await loadAll(ctx, known);
  const folded = parts.length > 1 ? foldInto(limit, ROOT, parts, known.now) : undefined;
  const served = folded && serve(limit, [folded], known.now, demand);
  if (!served) return decideOnAll(limit, parts, known.now, demand);
  known.parts.clear();
  return served;
}

/** A sharded limit: one shard, if need be a few, and only then all. */
async function askShards(ctx: Reader, known: Parts, { limit, demand }: Request): Promise<Decision> {
  const random = Math.random();
  const plan = planProbing(limit, demand, random);
  const seen: Part[] = [];
  while (isPromising(plan, seen, known.now, demand.count)) {
    seen.push(await loadPart(ctx, known, plan.leaf(seen.length)));
    const served = serve(limit, seen, known.now, { ...demand, reserve: false });
    if (served) return served;
  }
  if (seen.length > 0) {
    const reserved = demand.reserve ? serve(limit, seen, known.now, demand) : undefined;
    if (reserved) return reserved;
    if (plan.mayDeny) return denyOn(limit, seen, known.now, demand);
  }
  const parts = await loadAll(ctx, known);
  const first = Math.floor(random * parts.length);
  return decideOnAll(limit, [...parts.slice(first), ...parts.slice(0, first)], known.now, demand);
}
