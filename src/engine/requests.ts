/** Several requests in one call. */
import type { Request } from "./request.js";
import { unitsPerMs } from "./kinds/kind.js";
import { misuseError } from "./misuse.js";

/**
 * Which request is read when: those of fast limits last, since a row of a fast limit is the likeliest to be written
 * meanwhile.
 * @returns each with its place in the list.
 * @throws when two requests are to one bucket: the caller adds the counts.
 */
export function orderOf(requests: readonly Request[]): [place: number, request: Request][] {
  const asked = new Set<string>();
  for (const { name, key } of requests) {
    const id = JSON.stringify([name, key]);
    if (asked.has(id)) throw misuseError(name, "one bucket may be asked once in a call: add the counts.");
    asked.add(id);
  }
  const tokensPerMs = ({ limit }: Request) => unitsPerMs(limit) / limit.unitsPerToken;
  return [...requests.entries()].sort(([, a], [, b]) => tokensPerMs(a) - tokensPerMs(b));
}
