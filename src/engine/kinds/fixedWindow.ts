/** Fixed window: `refill` units arrive at the start of each window and are saved up to the capacity. */
import type { FixedWindowConfig } from "../../wire/configs.js";
import { limitOf } from "../grain.js";
import { END_OF_TIME } from "../time.js";
import { type Calendar, calendarOf, listedFrom, periodic } from "./calendar.js";
import { ANCHORS } from "./fields.js";
import type { Kind, Limit, Run, Share, State, Window } from "./kind.js";
import { CALENDAR_MS } from "./policy.js";
import { RefillingKind } from "./refilling.js";
import { shareOfLimit, shareOfUnits } from "./shares.js";

interface FixedWindowLimit extends Limit {
  readonly windows: Calendar;
  /** For a shard, the units of the whole bucket's windows, and its part of them. */
  readonly part?: { readonly refill: number; readonly share: Share };
}

export class FixedWindowKind extends RefillingKind<FixedWindowLimit> implements Kind<FixedWindowLimit> {
  parse(name: string, config: FixedWindowConfig): FixedWindowLimit {
    const { rate, period, capacity = rate, timeZone = "UTC" } = config;
    const isCalendar = typeof period === "string";
    const periodMs = isCalendar ? CALENDAR_MS[period] : period;
    // By default the first of January, the first of the month, Monday, midnight.
    const anchor = config.anchor ?? (isCalendar ? ANCHORS[period][0] : 0);
    const own = { name, kind: this, config: { ...config, capacity, ...(isCalendar && { timeZone, anchor }) } };
    const windows = isCalendar
      ? calendarOf(period, timeZone, anchor)
      : periodic(period, config.start ?? hashedStart(name, period));
    return { ...limitOf(own, { ...config, capacity, per: "window", periodMs }), windows };
  }

  /** If the config does not say when windows start, a hash of the key does. */
  forKey(limit: FixedWindowLimit, key: string | undefined): FixedWindowLimit {
    const config = limit.config as FixedWindowConfig;
    const { period } = config;
    if (typeof period === "string" || config.start !== undefined) return limit;
    const start = hashedStart(key ?? limit.name, period);
    return { ...limit, windows: periodic(period, start) };
  }

  protected accrued(limit: FixedWindowLimit, state: State, to: number): number {
    const { windows, refill } = limit;
    if (to <= state.ts) return 0;
    const count = windows.windowAt(to) - windows.windowAt(state.ts);
    return count === 0 ? 0 : firstRefill(limit, state) + (count - 1) * refill;
  }

  whenHolding(limit: FixedWindowLimit, state: State, units: number): number {
    const { windows, refill } = limit;
    const missing = units - this.held(limit, state);
    if (missing <= 0) return state.ts;
    // A share without refill never fills: 1e15 windows end after the end of time.
    const further = Math.max(0, Math.min(1e15, Math.ceil((missing - firstRefill(limit, state)) / refill)));
    return windows.startOf(windows.windowAt(state.ts) + 1 + further);
  }

  /**
   * A quota (a window that saves nothing up) holds what was not used of it: another capacity counts at once, also
   * against a debt. Only what is owed to reservations stays owed, since their work starts in later windows. If tokens
   * are saved up, what is held stays held, as in a token bucket.
   */
  protected override held(limit: FixedWindowLimit, state: State): number {
    const { value, window } = state;
    const { capacity } = limit;
    if (window?.used === undefined || !this.lapses(limit)) return Math.min(capacity, value);
    if (value >= 0) return Math.max(0, capacity - window.used);
    // The capacity under which it came to owe was their sum, or less if that was lowered.
    const isRaised = capacity > value + window.used && !window.isReserved;
    return isRaised ? capacity - window.used : value;
  }

  /** A new window forgets what was used before. One that began early holds what it brought, under any plan. */
  protected override windowAt(limit: FixedWindowLimit, state: State, to: number, value: number): Window {
    const { windows, capacity, refill } = limit;
    const { ts, window } = state;
    const current = windows.windowAt(to);
    const last = windows.windowAt(ts);
    if (window && current <= last) return window;
    const reserved = value < 0 && window?.isReserved && { isReserved: true as const };
    const begun = { since: windows.startOf(current), ...reserved };
    const most = this.lapses(limit) ? capacity : Math.min(capacity, refill);
    const isEarly = current === last + 1 && firstRefill(limit, state) < refill;
    return isEarly ? begun : { ...begun, used: Math.max(0, most - value) };
  }

  protected override usedBy(limit: FixedWindowLimit, state: State): number {
    const missing = super.usedBy(limit, state);
    return this.lapses(limit) ? Math.max(state.window?.used ?? 0, missing) : missing;
  }

  protected override usedAfter(limit: FixedWindowLimit, used: number, units: number, left: number): number {
    return this.lapses(limit) ? Math.min(used, left) : Math.max(0, used - units);
  }

  whenReset(limit: FixedWindowLimit, state: State, now: number): number {
    const { windows } = limit;
    const current = windows.windowAt(Math.max(state.ts, now));
    // A window that brings nothing resets nothing.
    const isEmpty = current === windows.windowAt(state.ts) && firstRefill(limit, state) === 0;
    return windows.startOf(current + (isEmpty ? 2 : 1));
  }

  shareOf(limit: FixedWindowLimit, share: Share): FixedWindowLimit {
    return { ...shareOfLimit(limit, share), part: { refill: limit.refill, share } };
  }

  /**
   * A capacity above the rate saves up tokens. The whole limit decides: the shares of the two are rounded, so a shard's
   * capacity may be the lesser one, or the greater.
   */
  lapses({ config, tokens }: FixedWindowLimit): boolean {
    return tokens <= Number(config.rate);
  }

  runsFrom({ windows, periodMs, config }: FixedWindowLimit, ts: number): readonly Run[] {
    const { period, timeZone } = config as FixedWindowConfig;
    // The days and weeks of UTC have one length.
    const isPeriodic = typeof period === "number" || (timeZone === "UTC" && (period === "day" || period === "week"));
    if (!isPeriodic) return listedFrom(windows, ts, periodMs);
    return [{ start: windows.startOf(windows.windowAt(0)), period: periodMs }];
  }

  shortStep(limit: FixedWindowLimit, state: State) {
    const { windows, refill } = limit;
    const units = refill - firstRefill(limit, state);
    if (units === 0) return undefined;
    const window = windows.windowAt(state.ts);
    const start = windows.startOf(window);
    return { start, period: windows.startOf(window + 1) - start, count: 1, units };
  }
}

/**
 * The units that the next window after a state's last write brings. If the windows have moved, it may begin soon after
 * the last one began, and then brings whole tokens in proportion to the time between. Otherwise a caller who changes
 * the time zone each hour would get a window each hour.
 */
function firstRefill({ windows, refill, unitsPerToken, part }: FixedWindowLimit, { ts, window }: State): number {
  const { since = -END_OF_TIME } = window ?? {};
  const current = windows.windowAt(ts);
  const start = windows.startOf(current);
  if (since <= start) return refill;
  const next = windows.startOf(current + 1);
  const tokens = (((part?.refill ?? refill) / unitsPerToken) * (next - since)) / (next - start);
  const units = Math.floor(tokens) * unitsPerToken;
  // The parts of all shards add up to it.
  return part ? shareOfUnits(units, unitsPerToken, part.share) : units;
}

/**
 * The start of the windows if the config does not say it: in [0, period), from a hash of the key, or of the name for
 * the bucket without a key. The hash of a key is the same for all limits: otherwise each limit that shows its start to
 * a client would tell six more bits of the key.
 */
export function hashedStart(keyOrName: string, period: number): number {
  // 64 phases spread callers. A client sees the start; more bits of the hash would tell which key the server chose.
  const PHASES = 64;
  return Math.floor((Math.floor(hashOf(keyOrName) * PHASES) / PHASES) * period);
}

/**
 * A number in [0, 1) that a text always gets, spread evenly over many texts: FNV-1a over UTF-16 code units and a 0,
 * then the finalizer of MurmurHash3, so that texts that differ in one character lie apart.
 */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  const ended = `${text}\u0000`;
  for (let i = 0; i < ended.length; i++) hash = Math.imul(hash ^ ended.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash ^= hash >>> 16;
  return (hash >>> 0) / 2 ** 32;
}
