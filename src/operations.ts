/**
 * What a limit does, for both homes: read the clock once, read the row once, decide, write at most once. Home A calls these
 * with the app's ctx.db, the component's registered functions with its own.
 */
import { decide, fullBucket } from "./engine/decide.js";
import { checkKey, checkName } from "./engine/demand.js";
import { fromStored, toStored } from "./engine/stored.js";
import type { Bucket, Limit } from "./engine/types.js";
import type { Place, Request } from "./request.js";
import { deleteRows, type Reader, readRow, type Row, WHOLE, writeRow, type Writer } from "./store.js";
import type { RateLimitSnapshot, RateLimitStatus } from "./validators.js";

/** Takes the tokens, or says when; a denial writes nothing. */
export async function consume(ctx: Writer, { limit, key, demand }: Request): Promise<RateLimitStatus> {
  const row = await readRow(ctx, limit.name, key, WHOLE);
  const { status, next } = decide(limit, bucketIn(limit, row), Date.now(), demand);
  if (next) await writeRow(ctx, { row, name: limit.name, key, shard: WHOLE }, toStored(limit, next));
  return status;
}

/** The same decision, taking nothing. */
export async function check(ctx: Reader, { limit, key, demand }: Request): Promise<RateLimitStatus> {
  const row = await readRow(ctx, limit.name, key, WHOLE);
  return decide(limit, bucketIn(limit, row), Date.now(), demand).status;
}

/** The stored state, without a look at the clock. */
export async function get(ctx: Reader, { limit, key }: Place): Promise<RateLimitSnapshot> {
  const bucket = bucketIn(limit, await readRow(ctx, limit.name, key, WHOLE));
  const config = limit.kind === "fixed window" ? { ...limit.config, start: limit.start } : limit.config;
  return { name: limit.name, ...toStored(limit, bucket), config };
}

/** Forgets the bucket: no row means full. */
export async function reset(ctx: Writer, { name, key }: { name: string; key?: string | undefined }): Promise<null> {
  checkName(name);
  checkKey(name, key);
  await deleteRows(ctx, name, key);
  return null;
}

function bucketIn(limit: Limit, row: Row | null): Bucket {
  return row ? fromStored(limit, row) : fullBucket(limit);
}
