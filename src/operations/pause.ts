/** A pause: nothing of a bucket starts before a time that somebody else has named, such as the provider behind it. */
import { parsePause } from "../engine/adjustment.js";
import type { Bucket } from "../engine/request.js";
import { pauseAll } from "../engine/sharding/pool.js";
import { write, type Writer } from "../storage/rows.js";
import { changeOf, loadAll, shardsOf } from "../storage/shards.js";
import { countedUnder, findTerms } from "./override.js";

/**
 * Pauses a bucket as a whole. A time that has passed, or one before the end of a longer pause, changes nothing and writes nothing.
 * @throws when the time is more than five years ahead.
 */
export async function pause(ctx: Writer, { until: asked, ...bucket }: Bucket & { until: number }): Promise<null> {
  const call = { now: Date.now(), random: Math.random };
  const { now } = call;
  const until = parsePause(bucket.name, asked, now);
  if (until <= now) return null;
  const { override, rows } = bucket.isOverridable ? await findTerms(ctx, bucket, call) : {};
  const paused = countedUnder(override, bucket);
  const shards = rows ? shardsOf(paused, rows) : await loadAll(ctx, paused);
  await write(ctx, changeOf(paused, shards, pauseAll(paused.limit, shards, now, until)));
  return null;
}
