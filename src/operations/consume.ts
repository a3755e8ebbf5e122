/**
 * Taking tokens, and asking without taking. A bucket that is always one row is read, decided and written here; one that may be split
 * goes through split.ts. Clock and randomness are read in this room only, once for each call.
 */
import { decide, outlook } from "../engine/decide.js";
import { fullState } from "../engine/kinds/kind.js";
import type { Bucket, Request } from "../engine/request.js";
import { snapshotOf } from "../engine/snapshot.js";
import { fromStored, toStored } from "../engine/state.js";
import { idOf, insertRow, patchRow, type Reader, readRows, type Row, type Writer } from "../storage/rows.js";
import { loadAll, shardsOf } from "../storage/shards.js";
import type { RateLimitSnapshot, RateLimitStatus } from "../validators.js";
import { type Answer, answerOnAll, type Call } from "./answer.js";
import { answerSplit } from "./split.js";

/** Takes the tokens, or says when; a denial writes nothing. */
export async function consume(ctx: Writer, request: Request): Promise<RateLimitStatus> {
  const { status, write } = await answer(ctx, request, { now: Date.now(), random: Math.random });
  await write?.(ctx);
  return status;
}

/** The same decision on all rows, taking nothing. */
export async function check(ctx: Reader, request: Request): Promise<RateLimitStatus> {
  return answerOnAll(request, await loadAll(ctx, request), Date.now()).status;
}

/** The stored state, whatever the clock says. */
export async function get(ctx: Reader, bucket: Bucket): Promise<RateLimitSnapshot> {
  return snapshotOf(bucket.limit, await loadAll(ctx, bucket));
}

/** What a bucket says to a demand. */
export async function answer(ctx: Reader, request: Request, call: Call): Promise<Answer> {
  if (request.limit.levels.most > 0) return await answerSplit(ctx, request, call);
  const rows = await readRows(ctx, idOf(request));
  const [row] = rows;
  return rows.length > 1 || row?.shard !== undefined
    ? answerOnAll(request, shardsOf(request, rows), call.now)
    : answerOnRow(request, row, call.now);
}

/** The answer of a bucket that is one row, or none. */
function answerOnRow(request: Request, row: Row | undefined, now: number): Answer {
  const { limit, key, demand } = request;
  const stored = row ? fromStored(limit, row, key) : fullState(limit);
  const { status, taken } = decide(limit, stored, now, demand);
  return {
    status,
    untouched: () => ({ ok: true, ...outlook(limit, limit.kind.advance(limit, stored, now), now) }),
    write: async (ctx) => {
      if (!taken) return;
      const content = toStored(limit, taken);
      if (row) await patchRow(ctx, row, content);
      else await insertRow(ctx, idOf(request), content);
    },
  };
}
