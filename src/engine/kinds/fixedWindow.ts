/** Fixed window: `refill` units arrive at the start of each window and are saved up to the capacity. */
import type { FixedWindowConfig, RateLimitConfig } from "../../wire/configs.js";
import { hashedStart } from "../phase.js";
import { type Calendar, CALENDAR_MS, calendarOf, listedFrom, periodic } from "./calendar.js";
import { ANCHORS } from "./fields.js";
import type { Kind, Limit, Outlook, Run, Share, State } from "./kind.js";
import { isMark, markOf, usedIn, windowOf } from "./kind.js";
import { RefillingKind } from "./refilling.js";
import { END_OF_TIME } from "../time.js";
import { shareOfUnits } from "./shares.js";
import { lowered } from "../units.js";
import { countIn } from "./terms.js";

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
    // By default the first of the month, Monday, midnight.
    const anchor = config.anchor ?? (isCalendar ? ANCHORS[period][0] : 0);
    const counted = countIn(name, { ...config, capacity, per: "window", periodMs });
    return {
      name,
      kind: this,
      config: { ...config, capacity, ...(isCalendar && { timeZone, anchor }) },
      ...counted,
      windows: isCalendar
        ? calendarOf(period, timeZone, anchor)
        : periodic(period, config.start ?? hashedStart(name, period)),
    };
  }

  /** If the config does not say when windows start, a hash of the key does. */
  forKey(limit: FixedWindowLimit, key: string | undefined): FixedWindowLimit {
    const { period, start } = limit.config as FixedWindowConfig;
    if (typeof period === "string" || start !== undefined) return limit;
    return { ...limit, windows: periodic(period, hashedStart(key ?? limit.name, period)) };
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
   * If the capacity has changed since: what the window has not used of the new one, or the debt. Tokens used before a raise count
   * against the raised capacity. In a marked window a raise adds nothing.
   */
  protected override held(limit: FixedWindowLimit, { value, ts, window }: State): number {
    if (!window) return Math.min(limit.capacity, value);
    const unused = limit.capacity - window.used;
    const left = Math.min(value, Math.max(0, unused));
    return isMark(window.since) ? left : Math.max(left, unused - excessOf(limit, ts, window));
  }

  /**
   * A new window forgets what was used, up to the tokens that it brings. Tokens used under a larger capacity are forgotten over
   * several windows. Otherwise a caller who alternates between a month's limit and a day's would get the month's each day.
   */
  protected override windowAt(limit: FixedWindowLimit, state: State, to: number, value: number): State["window"] {
    const { windows, capacity } = limit;
    const { window, ts } = state;
    const last = windows.windowAt(ts);
    const current = windows.windowAt(to);
    const isCurrent = current <= last;
    const missing = capacity - value;
    if (window && isCurrent) {
      // If more was used than is missing, the capacity was lowered: at the last write it was not yet.
      const loweredAt = window.used > missing ? (window.loweredAt ?? ts) : undefined;
      return loweredAt === window.loweredAt ? window : windowOf({ ...window, loweredAt });
    }
    const excess = window ? usedIn(window) - this.accrued(limit, state, to) - missing : 0;
    const start = windows.startOf(current);
    const began = sinceOf(state);
    // After another kind the next window does not bring all either.
    const isMarked = isMark(began) && (isCurrent || (current === last + 1 && began > windows.startOf(last)));
    const since = isMarked ? markOf(Math.max(ts, start)) : start;
    return windowOf({ since, used: missing, excess, before: window?.since });
  }

  whenReset(limit: FixedWindowLimit, state: State, now: number): number {
    const { windows } = limit;
    const current = windows.windowAt(Math.max(state.ts, now));
    // A window that brings nothing resets nothing.
    const isEmpty = current === windows.windowAt(state.ts) && firstRefill(limit, state) === 0;
    return windows.startOf(current + (isEmpty ? 2 : 1));
  }

  shareOf(limit: FixedWindowLimit, share: Share): FixedWindowLimit {
    const { capacity, refill, unitsPerToken } = limit;
    const partOf = (units: number) => shareOfUnits(units, unitsPerToken, share);
    return { ...limit, capacity: partOf(capacity), refill: partOf(refill), part: { refill, share } };
  }

  /** A capacity above the refill saves up tokens. */
  lapses({ capacity, refill }: FixedWindowLimit): "together" | undefined {
    return capacity <= refill ? "together" : undefined;
  }

  /** One window more. Those of a calendar may be longer than the average, a day by another that a zone skips. */
  countsMs({ periodMs, config }: FixedWindowLimit): number {
    return typeof config.period === "string" ? 2 * periodMs : periodMs;
  }

  shownConfig({ config, windows }: FixedWindowLimit): RateLimitConfig {
    const start = windows.startOf(0);
    return typeof config.period === "string" ? config : ({ ...config, start } as FixedWindowConfig);
  }

  runsFrom({ windows, periodMs, config }: FixedWindowLimit, ts: number): readonly Run[] {
    const { period, timeZone } = config as FixedWindowConfig;
    // The days and weeks of UTC have one length.
    const isPeriodic = typeof period === "number" || (timeZone === "UTC" && period !== "month");
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

  windowMs({ config, tokens, windows }: FixedWindowLimit, now: number): number {
    const count = tokens === 0 ? 1 : Math.ceil(lowered(tokens / config.rate));
    const window = windows.windowAt(now);
    return windows.startOf(window + count) - windows.startOf(window);
  }

  renewedAt({ config, windows }: FixedWindowLimit, left: Outlook, next: { spent: number; count: number }): number {
    const { remaining, resetAt, retryAt = 0, renewsAt } = left;
    const { spent, count } = next;
    // A window brings `rate` tokens, which may be less than a request takes. The one that pays a debt may leave none.
    const further = Math.ceil(lowered((count - (remaining - spent)) / config.rate)) - (retryAt > 0 ? 0 : 1);
    const at = Math.max(resetAt, retryAt);
    return renewsAt ?? (further <= 0 ? at : windows.startOf(windows.windowAt(at) + further));
  }
}

/** The units of earlier windows that still count. A whole window of this calendar has brought `refill` of the capacity back. */
function excessOf(limit: FixedWindowLimit, ts: number, window: NonNullable<State["window"]>): number {
  const { since, excess = 0, before = Infinity } = window;
  if (excess === 0) return 0;
  const { windows, capacity, refill } = limit;
  const current = windows.windowAt(ts);
  const isWhole = since === windows.startOf(current) && before <= windows.startOf(current - 1);
  return isWhole ? Math.min(excess, Math.max(0, capacity - refill)) : excess;
}

/** When a state's window began, or the last write under another kind; a bucket that was never written was of no other. */
function sinceOf({ ts, window }: State): number {
  return window?.since ?? (ts > 0 ? markOf(ts) : -END_OF_TIME);
}

/**
 * The units that the next window after a state's last write brings. If the windows have moved, it may begin soon after the last one
 * began, and then brings whole tokens in proportion to the time between. Otherwise a caller who changes the time zone each hour would get
 * a window each hour. A state without a window was written under another kind, which has counted the time until then (`ts` 0: never).
 */
function firstRefill({ windows, refill, unitsPerToken, part }: FixedWindowLimit, state: State): number {
  const current = windows.windowAt(state.ts);
  const start = windows.startOf(current);
  const since = Math.ceil(sinceOf(state));
  if (since <= start) return refill;
  const next = windows.startOf(current + 1);
  const tokens = (((part?.refill ?? refill) / unitsPerToken) * (next - since)) / (next - start);
  const units = Math.floor(tokens) * unitsPerToken;
  // The parts of all shards add up to it.
  return part ? shareOfUnits(units, unitsPerToken, part.share) : units;
}
