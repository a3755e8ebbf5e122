/** One demand on one bucket: which rows to read, in which order, until the answer is clear. Nothing is written here. */
import { decide, serve } from "../engine/decide.js";
import { ROOT } from "../engine/sharding/heap.js";
import { decideOnAll, denyOn, isClear, isPromising, planProbing } from "../engine/sharding/probe.js";
import { foldInto } from "../engine/sharding/reshard.js";
import type { Decision, Demand, Part } from "../engine/types.js";
import { loadAll, loadPart, type Parts } from "../storage/parts.js";
import type { Reader } from "../storage/rows.js";

/**
 * The decision on a demand, and in `known` what it takes to write it down.
 * @param random - a number in [0, 1) that chooses among shards.
 */
export async function ask(ctx: Reader, known: Parts, demand: Demand, random: number): Promise<Decision> {
  return known.place.limit.shards === 1
    ? await askWhole(ctx, known, demand)
    : await askShards(ctx, known, demand, random);
}

/** The decision of a look at everything, for whoever takes nothing. */
export async function askAbout(ctx: Reader, known: Parts, demand: Demand): Promise<Decision> {
  return decideOnAll(known.place.limit, await loadAll(ctx, known), known.now, demand);
}

/** An unsharded limit: one range holds its row, and whatever a larger number of shards has left behind to be folded. */
async function askWhole(ctx: Reader, known: Parts, demand: Demand): Promise<Decision> {
  const { limit } = known.place;
  const parts = await loadAll(ctx, known);
  const folded = parts.length > 1 ? foldInto(limit, ROOT, parts, known.now) : undefined;
  const served = folded && serve(limit, [folded], known.now, demand);
  if (!served) return decide(limit, parts, known.now, demand);
  known.parts.clear();
  return served;
}

/** A sharded limit: one shard, if need be a few, and only then all. */
async function askShards(ctx: Reader, known: Parts, demand: Demand, random: number): Promise<Decision> {
  const { limit } = known.place;
  const plan = planProbing(limit, demand, random);
  const seen: Part[] = [];
  while (isPromising(plan, seen, known.now, demand.count)) {
    const part = await loadPart(ctx, known, plan.leaf(seen.length));
    seen.push(part);
    const served = serve(limit, plan.mayJoin ? seen : [part], known.now, { ...demand, reserve: false });
    if (served) return served;
  }
  const reserved = demand.reserve && seen.length > 0 ? serve(limit, seen, known.now, demand) : undefined;
  if (reserved) return reserved;
  if (isClear(plan, seen, known.now)) return denyOn(limit, seen, known.now, demand);
  const parts = await loadAll(ctx, known);
  const first = Math.floor(random * parts.length);
  return decideOnAll(limit, [...parts.slice(first), ...parts.slice(0, first)], known.now, demand);
}
