/** The other direction: when a provider that has denied a request takes the next one. */
import { checkField, required } from "../engine/fields.js";
import { FURTHEST_MS } from "../engine/time.js";
import { itemsOf, withoutStrings } from "./fields.js";
import { nowField } from "./headers.js";

/** As much of a response's headers as is read. TypeScript 5 knows no iterator of them without the lib DOM.Iterable. */
type ReadHeaders = Pick<Headers, "get" | "forEach">;

/**
 * When the server that answered wants the next request, in milliseconds since the epoch: the `until` of
 * `pauseRateLimit`. Undefined if its headers do not say. It reads, in this order:
 *
 * - `retry-after-ms`; `Retry-After` in seconds or as a date;
 * - the resets in `RateLimit`, `ratelimit-reset`, `x-ratelimit-reset`, `x-ratelimit-*-reset`, `x-ratelimit-reset-*`,
 *   `x-rate-limit-reset`, `anthropic-ratelimit-*-reset`: the latest of those of which nothing remains, or whose status
 *   is `rejected`; or, if none says so, the earliest that lies ahead.
 *
 * Times of the server's clock count from its `Date`, if it sends one.
 *
 * @param now - when the answer came, in milliseconds since the epoch.
 * @throws when `now` is no such time.
 * @example
 * ```ts
 * import { retryAfterOf } from "convex-rate-limits/http";
 *
 * const response = await fetch("https://api.example/");
 * export const until = response.status === 429 ? retryAfterOf(response, Date.now()) : undefined;
 * ```
 */
export function retryAfterOf({ headers }: { readonly headers: ReadHeaders }, now: number): number | undefined {
  checkField({ of: "retryAfterOf" }, "now", required(nowField), now);
  // The range of `pauseRateLimit`: a header with a later time is a mistake.
  const isTime = (at: number) => at >= 0 && at <= now + FURTHEST_MS;
  const clock = { now, aheadMs: Date.parse(headers.get("date") ?? "") - now };
  const waitMs = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  const said = [waitMs >= 0 ? now + waitMs : NaN, timeIn(headers.get("retry-after") ?? "", clock)].find(isTime);
  const budgets = [...fieldsIn(headers, clock), ...itemsIn(headers, now)].filter(({ at }) => isTime(at));
  const spent = budgets.filter(({ left }) => left === "0").map(({ at }) => at);
  const ahead = budgets.filter(({ at, left }) => at > now && !left?.startsWith("-")).map(({ at }) => at);
  const until = said ?? (spent.length > 0 ? Math.max(...spent) : Math.min(...ahead));
  return Number.isFinite(until) ? Math.ceil(until) : undefined;
}

/** When each budget is reset, and what is left of it: "0", or a negative number of one without a limit. */
function fieldsIn(headers: ReadHeaders, clock: Clock) {
  const all: (readonly [name: string, value: string])[] = [];
  headers.forEach((value, name) => all.push([name, value]));
  const resets = all.filter(([name]) => /^(anthropic-|x-)?rate-?limit-(.+-)?reset(-.+)?$/i.test(name));
  return resets.map(([name, value]) => {
    const beside = (field: string) => headers.get(name.replace(/reset/i, field))?.trim();
    // Seconds since the epoch, whose fraction a server cuts off, as in Date. Anthropic's windows end at whole seconds.
    const isCut = /^x-/i.test(name) && /^[1-9]\d{9,11}$/.test(value.trim()) && Number.isNaN(clock.aheadMs);
    const left = beside("status") === "rejected" ? "0" : beside("remaining");
    return { at: timeIn(value, clock) + (isCut ? 1000 : 0), left };
  });
}

/** The same of each item in `"day";r=0;t=30, "minute";r=5;t=2`, and of all of `limit=9, remaining=0, reset=30`. */
function itemsIn(headers: ReadHeaders, now: number) {
  const field = headers.get("ratelimit") ?? "";
  return (/^\s*limit\s*=/i.test(field) ? [field] : itemsOf(field)).map((item) => {
    // What a string holds is no parameter.
    const bare = withoutStrings(item);
    const read = (name: string) => new RegExp(`[;,]\\s*(?:${name})=(\\d+)`).exec(bare)?.[1];
    return { at: now + Number(read("t|reset") ?? NaN) * 1000, left: read("r|remaining") };
  });
}

/** Our clock, and by how much the server's is ahead of it; NaN if the server does not say. */
type Clock = { readonly now: number; readonly aheadMs: number };
const UNIT_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Seconds, the epoch's seconds or milliseconds, a duration such as `6m0s`, or a date; NaN for anything else. */
function timeIn(text: string, { now, aheadMs }: Clock): number {
  // Unlike those of other runtimes, the `Headers` of Convex keep the spaces around a value.
  const value = text.trim();
  const ofServer = (at: number) => at - (aheadMs || 0);
  if (/^\d+(\.\d+)?$/.test(value)) {
    const number = Number(value);
    // Numbers from 1e9 on count from the epoch: nobody waits 31 years. From 1e12 on they are milliseconds.
    return number < 1e9 ? now + number * 1000 : ofServer(number < 1e12 ? number * 1000 : number);
  }
  if (/^(\d+(\.\d+)?(ms|[dhms]))+$/.test(value)) {
    const parts = value.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g);
    return [...parts].reduce((at, [, count, unit = ""]) => at + Number(count) * (UNIT_MS[unit] ?? NaN), now);
  }
  // The three forms of RFC 9110, section 5.6.7; that of C's asctime does not say that it is GMT.
  if (/^\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}$/.test(value)) return ofServer(Date.parse(`${value} GMT`));
  return /^\w{3,9},? .*GMT$|^\d{4}-\d\d-\d\dT/.test(value) ? ofServer(Date.parse(value)) : NaN;
}
