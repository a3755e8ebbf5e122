/** The other direction: when a provider that has denied a request takes the next one. */
import { FURTHEST_MS } from "../engine/time.js";
import { itemsOf } from "./fields.js";

/** As much of a response's headers as is read. */
type ReadHeaders = Iterable<readonly [string, string]> & Pick<Headers, "get">;
type Clock = { readonly now: number; readonly date: string | null };

/**
 * When the server that answered wants the next request, in milliseconds since the epoch: the `until` of `pauseRateLimit`.
 * Undefined if its headers do not say. It reads, in this order:
 *
 * - `retry-after-ms`; `Retry-After` in seconds or as a date;
 * - the fields of limits that name a reset: `RateLimit` of every draft, `ratelimit-reset`, `x-ratelimit-reset`,
 *   `x-ratelimit-reset-*`, `x-ratelimit-*-reset`, `x-rate-limit-reset`, `anthropic-ratelimit-*-reset`. Of those of which
 *   nothing remains, or whose status is `rejected`, the latest; if none says so, the earliest that lies ahead.
 *
 * Times that the server names are counted from its own `Date`, if it sends one.
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
  const clock = { now, date: headers.get("date") };
  const milliseconds = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  const waits = [milliseconds >= 0 ? now + milliseconds : NaN, timeIn(headers.get("retry-after") ?? "", clock)];
  const budgets = [...fieldsIn(headers, clock), ...itemsIn(headers, now)].filter(({ at }) => isTime(at));
  const spent = budgets.filter(({ left }) => left === "0").map(({ at }) => at);
  const ahead = budgets.filter(({ at, left }) => at > now && !left?.startsWith("-")).map(({ at }) => at);
  const until = waits.find(isTime) ?? (spent.length > 0 ? Math.max(...spent) : Math.min(...ahead));
  return Number.isFinite(until) ? Math.ceil(until) : undefined;
}

/** When a budget is reset, and what is left of it: "0", or a negative number of one without a limit. */
interface Budget {
  readonly at: number;
  readonly left: string | undefined;
}

const RESET = /^(anthropic-|x-)?rate-?limit-(.+-)?reset(-.+)?$/i;

function fieldsIn(headers: ReadHeaders, clock: Clock): Budget[] {
  const beside = (name: string, field: string) => headers.get(name.replace(/reset/i, field))?.trim();
  return [...headers]
    .filter(([name]) => RESET.test(name))
    .map(([name, value]) => {
      const at = timeIn(value, clock);
      // Most servers cut the fraction off the second of a reset, as they do in Date. Anthropic's windows end with one.
      const isCut = clock.date === null && /^x-/i.test(name) && isEpochSecond(value.trim());
      const left = beside(name, "status") === "rejected" ? "0" : beside(name, "remaining");
      return { at: isCut ? at + 1000 : at, left };
    });
}

/** The items of `RateLimit`: like `"day";r=0;t=30, "minute";r=5;t=2`, or all of it: like `limit=9, remaining=0, reset=30`. */
function itemsIn(headers: ReadHeaders, now: number): Budget[] {
  const field = headers.get("ratelimit") ?? "";
  const items = /^\s*limit\s*=/i.test(field) ? [field] : itemsOf(field);
  // What a string holds is no parameter.
  return items
    .map((item) => item.replace(/"(?:[^"\\]|\\.)*"/g, ""))
    .map((item) => {
      const [, seconds = NaN] = /[;,]\s*(?:t|reset)=(\d+)/.exec(item) ?? [];
      return { at: now + Number(seconds) * 1000, left: /[;,]\s*(?:r|remaining)=(\d+)/.exec(item)?.[1] };
    });
}

/** Numbers from these on count from the epoch, in seconds or in milliseconds: nobody waits 31 years. */
const EPOCH_SECONDS = 1e9;
const EPOCH_MS = 1e12;
const UNIT_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

function isEpochSecond(value: string): boolean {
  return /^\d+$/.test(value) && Number(value) >= EPOCH_SECONDS && Number(value) < EPOCH_MS;
}

/** Seconds, the epoch's seconds or milliseconds, a duration such as `6m0s`, or a date; NaN for anything else. */
function timeIn(text: string, { now, date }: Clock): number {
  // Unlike those of other runtimes, the `Headers` of Convex keep the spaces around a value.
  const value = text.trim();
  const aheadMs = Date.parse(date ?? "") - now || 0;
  if (/^\d+(\.\d+)?$/.test(value)) {
    const number = Number(value);
    return number < EPOCH_SECONDS ? now + number * 1000 : (number < EPOCH_MS ? number * 1000 : number) - aheadMs;
  }
  if (/^(\d+(\.\d+)?(ms|[dhms]))+$/.test(value)) {
    const parts = value.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g);
    return [...parts].reduce((at, [, count, unit = ""]) => at + Number(count) * (UNIT_MS[unit] ?? NaN), now);
  }
  // The three forms of RFC 9110, section 5.6.7; that of C's asctime does not say that it is GMT.
  if (/^\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}$/.test(value)) return Date.parse(`${value} GMT`) - aheadMs;
  return /^\w{3,9},? .*GMT$|^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) - aheadMs : NaN;
}
