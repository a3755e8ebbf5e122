/** The engine's decision as an unsharded limit meets it: one bucket in, at most one bucket out. */
import { fullBucket } from "../../src/engine/kinds/bucket.js";
import { decide } from "../../src/engine/decide.js";
import { ROOT } from "../../src/engine/sharding/heap.js";
import { partFromStored, type Stored } from "../../src/engine/stored.js";
import type { Bucket, Demand, Limit } from "../../src/engine/types.js";

export { fullBucket };

export function decideWhole(limit: Limit, bucket: Bucket, now: number, demand: Demand) {
  const { status, taken } = decide(limit, [{ node: ROOT, limit, bucket }], now, demand);
  return { status, next: taken[0]?.bucket };
}

export function fromStored(limit: Limit, state: Stored): Bucket {
  return partFromStored(limit, ROOT, state).bucket;
}
