/** The other direction: when a provider that has denied a request takes the next one. */
import { FURTHEST_MS } from "../engine/time.js";

/** As much of a response's headers as is read. */
type ReadHeaders = Iterable<readonly [string, string]> & Pick<Headers, "get">;

/**
 * When the server that answered wants the next request, in milliseconds since the epoch: the `until` of `pauseRateLimit`. Undefined if
 * its headers do not say. It reads, in this order:
 *
 * - `retry-after-ms`; `Retry-After` in seconds or as a date;
 * - `anthropic-ratelimit-*-reset`, `x-ratelimit-reset`, `x-ratelimit-reset-*`, `ratelimit-reset`, and t of `RateLimit`: the latest of
 *   those of which nothing remains, or, if none says so, the latest.
 *
 * @param now - when the answer came, in milliseconds since the epoch.
 * @example
 * ```ts
 * import { retryAfterOf } from "convex-rate-limits/http";
 *
 * const response = await fetch("https://api.example/");
 * export const until = response.status === 429 ? retryAfterOf(response, Date.now()) : undefined;
 * ```
 */
export function retryAfterOf({ headers }: { readonly headers: ReadHeaders }, now: number): number | undefined {
  // The range of `pauseRateLimit`: a header with a later time is a mistake.
  const isTime = (at: number) => at >= 0 && at <= now + FURTHEST_MS;
  const milliseconds = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  const said = [milliseconds >= 0 ? now + milliseconds : NaN, timeIn(headers.get("retry-after") ?? "", now)].find(
    isTime,
  );
  const known = resetsIn(headers, now).filter(({ at }) => isTime(at));
  const spent = known.filter(({ isSpent }) => isSpent);
  const until = said ?? Math.max(...(spent.length > 0 ? spent : known).map(({ at }) => at));
  return Number.isFinite(until) ? Math.ceil(until) : undefined;
}

const RESET = /^(?:anthropic-ratelimit-(.+)-reset|(?:x-)?ratelimit-reset(?:-(.+))?)$/i;

/** The items of a `RateLimit` field are like `"day";r=0;t=30, "minute";r=5;t=2`. */
function resetsIn(headers: ReadHeaders, now: number): { at: number; isSpent: boolean }[] {
  const resets = [...headers].filter(([name]) => RESET.test(name));
  const items = headers.get("ratelimit")?.split(",") ?? [];
  return [
    ...resets.map(([name, value]) => ({
      at: timeIn(value, now),
      isSpent: headers.get(name.replace(/reset/i, "remaining"))?.trim() === "0",
    })),
    ...items.map((item) => ({
      at: now + Number(/;\s*t=(\d+)/.exec(item)?.[1] ?? NaN) * 1000,
      isSpent: /;\s*r=0\s*(?:;|$)/.test(item),
    })),
  ];
}

/** Numbers from these on count from the epoch, in seconds or in milliseconds: nobody waits 31 years. */
const EPOCH_SECONDS = 1e9;
const EPOCH_MS = 1e12;
const UNIT_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Seconds, the epoch's seconds or milliseconds, a duration such as `6m0s`, or a date; NaN for anything else. */
function timeIn(text: string, now: number): number {
  // Unlike those of other runtimes, the `Headers` of Convex keep the spaces around a value.
  const value = text.trim();
  if (/^\d+(\.\d+)?$/.test(value)) {
    const number = Number(value);
    return number >= EPOCH_MS ? number : number >= EPOCH_SECONDS ? number * 1000 : now + number * 1000;
  }
  if (/^(\d+(\.\d+)?(ms|[dhms]))+$/.test(value)) {
    const parts = value.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g);
    return [...parts].reduce((at, [, count, unit = ""]) => at + Number(count) * (UNIT_MS[unit] ?? NaN), now);
  }
  // The three forms of RFC 9110, section 5.6.7; that of C's asctime does not say that it is GMT.
  if (/^\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}$/.test(value)) return Date.parse(`${value} GMT`);
  return /^\w{3,9},? .*GMT$|^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : NaN;
}
