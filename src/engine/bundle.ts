/** Several requests in one call: those to the same bucket add up to one request to it, so that their order cannot matter. */
import type { DemandArgs } from "./demand.js";
import { misuseError } from "./misuse.js";
import type { Limit } from "./kinds/kind.js";
import { type Bucket, type Request, requestTo } from "./request.js";

/** One request to each bucket, and of each request of the call, which of those it is part of. */
export interface Bundle {
  readonly requests: readonly Request[];
  readonly summed: readonly Request[];
  /** Of the n-th request, the place in `summed`. */
  readonly partOf: readonly number[];
}

/** @throws when a bucket could never serve all that is asked of it, or is asked in two ways. */
export function bundle(requests: readonly Request[]): Bundle {
  const places = new Map<string, number>();
  const byBucket: [Request, ...Request[]][] = [];
  const partOf = requests.map((request) => {
    const id = JSON.stringify([request.limit.name, request.key]);
    const place = places.get(id) ?? byBucket.length;
    places.set(id, place);
    const same = byBucket[place];
    if (same) same.push(request);
    else byBucket.push([request]);
    return place;
  });
  return { requests, summed: byBucket.map(sum), partOf };
}

function sum([first, ...others]: readonly [Request, ...Request[]]): Request {
  for (const other of others) checkAlike(first, other);
  // Numbers are added, not units: three requests of a third are one of 1.
  const count = [first, ...others].reduce((total, { asked }) => total + (asked.count ?? 1), 0);
  return others.length === 0 ? first : requestTo(first, { ...first.asked, count });
}

function checkAlike({ limit, asked }: Bucket & { asked: DemandArgs }, other: Request): void {
  if (meaning(other.limit) !== meaning(limit)) {
    throw misuseError(limit.name, "one bucket must have the same config in all the requests of a call.");
  }
  if (JSON.stringify(asked.reserve ?? false) !== JSON.stringify(other.asked.reserve ?? false)) {
    throw misuseError(limit.name, "one bucket cannot be asked both to consume and to reserve in the same call.");
  }
}

/** What a limit does, whatever the order of its config's fields and the defaults that were spelt out. */
function meaning({ kind, config, ...numbers }: Limit): string {
  const fields = Object.entries(config).filter(([field]) => field !== "shards");
  return JSON.stringify([kind.name, fields.sort(), numbers]);
}
