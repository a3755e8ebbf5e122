/**
 * One bucket in one call: its answer to a demand, and what has to be written to make the answer true. A bucket that is always one
 * row is read, decided and written here; one that may be split goes through split.ts.
 */
import { decide, outlook } from "../engine/decide.js";
import { fullState } from "../engine/kinds/kind.js";
import type { Request } from "../engine/request.js";
import { decideOnAll, type Outcome, outlookOf } from "../engine/sharding/pool.js";
import { fromStored, toStored } from "../engine/state.js";
import { insertRow, patchRow, type Reader, readRows, type Row, type Writer } from "../storage/rows.js";
import { idOf, save, shardsOf, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../validators.js";
import { answerSplit } from "./split.js";

/** The moment and the chances of one call: read once, in operations. */
export interface Call {
  readonly now: number;
  /** Random numbers in [0, 1). */
  readonly random: () => number;
}

/** What a bucket says to a demand. Nothing is written until `write` is called; a denial has nothing to write. */
export interface Answer {
  readonly status: RateLimitStatus;
  /** How the bucket stands while nothing is taken from it. */
  readonly untouched: () => RateLimitStatus;
  readonly write: (ctx: Writer) => Promise<void>;
}

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

/** The answer of a call that has read all shards of a bucket. */
export function answerOnAll(request: Request, shards: readonly StoredShard[], now: number): Answer {
  const { limit, demand } = request;
  const outcome: Outcome<StoredShard> = decideOnAll(limit, shards, now, demand);
  return {
    status: outcome.status,
    untouched: () => ({ ok: true, ...outlookOf(limit, shards, now) }),
    write: (ctx) => save(ctx, request, outcome.before, outcome.after),
  };
}
