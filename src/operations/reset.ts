/** Forgetting a bucket: no row means full. Overrides stay. */
import { checkBucket } from "../engine/names.js";
import { type BucketId, deleteRow, holdsTokens, readRows, type Writer } from "../storage/rows.js";

export async function reset(ctx: Writer, bucket: BucketId): Promise<null> {
  checkBucket(bucket);
  for (const row of (await readRows(ctx, bucket)).filter(holdsTokens)) await deleteRow(ctx, row);
  return null;
}
