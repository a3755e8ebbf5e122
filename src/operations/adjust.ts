/** Settling after the fact: charging what was really used, giving back what was not. */
import { ask } from "./ask.js";
import { decide, replace } from "../engine/decide.js";
import { giveBack } from "../engine/sharding/giveBack.js";
import { misuse } from "../engine/misuse.js";
import type { Decision, Part } from "../engine/types.js";
import { MAX_UNITS } from "../engine/units.js";
import { loadAll, loadPart, openParts, type Parts, saveParts } from "../storage/parts.js";
import type { Adjustment } from "../engine/request.js";
import type { Writer } from "../storage/rows.js";
import type { RateLimitStatus } from "../validators.js";

/** Charges units without asking, or gives them back. */
export async function adjust(ctx: Writer, { limit, key, units }: Adjustment): Promise<RateLimitStatus> {
  // A charge is a reservation that nothing bounds, so it goes where a reservation would go.
  const known = openParts({ limit: { ...limit, maxReserved: MAX_UNITS }, key }, Date.now());
  const { status, taken } =
    units >= 0
      ? await ask(ctx, known, { count: units, reserve: true }, Math.random())
      : await returnTo(ctx, known, -units, Math.random());
  if (!status.ok) {
    throw misuse(limit.name, `count ${units / limit.unitsPerToken} cannot be charged: too much is owed already.`);
  }
  await saveParts(ctx, known, taken);
  return status;
}

/** Finds room for the units: in an unsharded limit its row, in another two of its shards, and all of them when those are full. */
async function returnTo(ctx: Writer, known: Parts, units: number, random: number): Promise<Decision> {
  const { place, now } = known;
  const { limit } = place;
  const { shards } = limit;
  const answer = (parts: Part[], taken: Part[]) => {
    const { status } = decide(limit, replace(parts, taken), now, { count: 0, reserve: true });
    return { status, taken, asked: parts };
  };
  if (shards > 1) {
    const first = Math.floor(random * shards);
    const few = [];
    for (const leaf of [first, (first + shards / 2) % shards]) few.push(await loadPart(ctx, known, shards + leaf));
    const { taken, left } = giveBack(few, now, units);
    if (left === 0) return answer(few, taken);
  }
  const all = await loadAll(ctx, known);
  return answer(all, giveBack(all, now, units).taken);
}
