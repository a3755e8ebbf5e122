/** Taking tokens, and asking without taking. Clock and randomness are read in this room only, once for each call. */
import type { Bucket, Request } from "../engine/request.js";
import { snapshotOf } from "../engine/snapshot.js";
import type { Reader, Writer } from "../storage/rows.js";
import { loadAll } from "../storage/shards.js";
import type { RateLimitSnapshot, RateLimitStatus } from "../validators.js";
import { answer, answerOnAll } from "./bucket.js";

/** Takes the tokens, or says when; a denial writes nothing. */
export async function consume(ctx: Writer, request: Request): Promise<RateLimitStatus> {
  const { status, write } = await answer(ctx, request, { now: Date.now(), random: Math.random });
  if (status.ok) await write(ctx);
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
