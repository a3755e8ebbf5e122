/** Several requests in one call: those to the same bucket add up to one request to it, so that their order cannot matter. */
import { type DemandArgs, type Request, requestTo } from "./request.js";
import { areEqual, type Bucket, storedConfig } from "./bucket.js";
import { unitsPerMs } from "./kinds/kind.js";
import { misuseError } from "./misuse.js";

/** The requests of a call. */
export interface Bundle {
  readonly requests: readonly Request[];
  /**
   * One request to each bucket. Those of fast limits come last: all are read in this order, and a row of a fast limit is the
   * likeliest to be written meanwhile.
   */
  readonly summed: readonly Request[];
  /** The place in `summed` of the n-th request. */
  readonly partOf: readonly number[];
}

/** @throws when a bucket could never serve all that is asked of it, or is asked in two ways. */
export function bundle(requests: readonly Request[]): Bundle {
  const byBucket = new Map<string, [Request, ...Request[]]>();
  for (const request of requests) {
    const same = byBucket.get(nameAndKey(request));
    if (same) same.push(request);
    else byBucket.set(nameAndKey(request), [request]);
  }
  const summed = [...byBucket.values()].map(sum).sort((a, b) => pace(a) - pace(b));
  const ids = summed.map(nameAndKey);
  return { requests, summed, partOf: requests.map((request) => ids.indexOf(nameAndKey(request))) };
}

function nameAndKey({ name, key }: Bucket): string {
  return JSON.stringify([name, key]);
}

/** Tokens that arrive per ms. */
function pace({ limit }: Bucket): number {
  return unitsPerMs(limit) / limit.unitsPerToken;
}

function sum([first, ...others]: readonly [Request, ...Request[]]): Request {
  for (const other of others) checkAlike(first, other);
  // Numbers are added, not units: three requests of a third are one of 1.
  const count = [first, ...others].reduce((total, { asked }) => total + (asked.count ?? 1), 0);
  const refundable = [first, ...others].some(({ asked }) => asked.refundable) || undefined;
  return others.length === 0 ? first : requestTo(first, { ...first.asked, count, refundable });
}

function checkAlike({ limit, asked }: Bucket & { asked: DemandArgs }, other: Request): void {
  // Explicit defaults and the number of rows do not count.
  if (!areEqual(storedConfig(limit.config), storedConfig(other.limit.config))) {
    throw misuseError(limit.name, "one bucket must have the same config in all the requests of a call.");
  }
  if (JSON.stringify(asked.reserve ?? false) !== JSON.stringify(other.asked.reserve ?? false)) {
    throw misuseError(limit.name, "one bucket cannot be asked both to consume and to reserve in the same call.");
  }
  if ((asked.shadow ?? false) !== (other.asked.shadow ?? false)) {
    throw misuseError(limit.name, "one bucket cannot be both enforced and in shadow in the same call.");
  }
}
