/** The terms of a bucket in whole units, and when its windows begin. Times are milliseconds; units are BigInt, so nothing is rounded. */

export interface Config {
  readonly kind: "token bucket" | "fixed window" | "sliding window";
  readonly rate: number;
  readonly period: number | "day" | "week" | "month" | "year";
  readonly capacity?: number;
  readonly maxReserved?: number;
  readonly start?: number;
  readonly timeZone?: string;
  readonly anchor?: number;
}

/** All worlds begin here. */
export const T0 = 1_800_000_000_000;
/** The scheduler refuses a start further away. */
export const FIVE_YEARS = 5 * 366 * 86_400_000;
/** The periods of token buckets: a millisecond of each brings whole units. */
export const PERIODS = [10, 100, 1000, 7000, 60_000] as const;

/** Windows, numbered: `startOf(at(t)) <= t < startOf(at(t) + 1)`. */
export interface Windows {
  readonly at: (time: number) => number;
  readonly startOf: (window: number) => number;
}

export interface Terms {
  /** Plans with the same id share a bucket: the kind, and of windows the period. */
  readonly id: string;
  readonly kind: Config["kind"];
  readonly capacity: bigint;
  /** What a period or window brings. */
  readonly rate: bigint;
  /** Of a token bucket: what a millisecond brings. */
  readonly perMs: bigint;
  readonly maxReserved: bigint | undefined;
  /** Of a window in ms, and a sliding window. */
  readonly periodMs: number;
  readonly perToken: bigint;
  readonly windows: Windows;
}

/** Units to a token: whatever arrives in a millisecond is a whole number of them, and so are thousandths of a token. */
export class Scale {
  readonly perToken: bigint;
  constructor(periods: readonly number[] = PERIODS) {
    this.perToken = 1000n * periods.reduce((product, period) => leastCommonMultiple(product, BigInt(period)), 1n);
  }
  units(tokens: number): bigint {
    return BigInt(Math.round(tokens * 1000)) * (this.perToken / 1000n);
  }
  /** Whole tokens, rounded down. */
  tokens(units: bigint): number {
    return Number(units / this.perToken);
  }

  terms(config: Config): Terms {
    const { kind, rate, period, maxReserved } = config;
    const isSliding = kind === "sliding window";
    const capacity = isSliding ? rate : (config.capacity ?? rate);
    const periodMs = typeof period === "number" ? period : AVERAGE_MS[period];
    return {
      id: kind === "token bucket" ? kind : `${kind} of ${String(period)}`,
      kind,
      capacity: this.units(capacity),
      rate: this.units(rate),
      perMs: kind === "token bucket" ? this.units(rate) / BigInt(periodMs) : 0n,
      maxReserved: maxReserved === undefined ? undefined : this.units(maxReserved),
      periodMs,
      perToken: this.perToken,
      windows: windowsOf(config),
    };
  }
}

function leastCommonMultiple(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y > 0n) [x, y] = [y, x % y];
  return (a / x) * b;
}

export const DAY = 86_400_000;
const AVERAGE_MS = { day: DAY, week: 7 * DAY, month: 30 * DAY, year: 365 * DAY };

/** Zones that have not changed their clocks since 1970, so that no table of them is needed here. The project tests others by cases. */
export const ZONES: Readonly<Record<string, number>> = {
  UTC: 0,
  "Asia/Kolkata": 5.5 * 3_600_000,
  "Asia/Tokyo": 9 * 3_600_000,
  "America/Phoenix": -7 * 3_600_000,
};

function windowsOf({ period, start = 0, timeZone = "UTC", anchor }: Config): Windows {
  const offset = ZONES[timeZone];
  if (offset === undefined) throw new Error(`no fixed offset of ${timeZone} is known here`);
  const every = (length: number, first: number): Windows => ({
    at: (time) => Math.floor((time - first) / length),
    startOf: (window) => first + window * length,
  });
  switch (period) {
    case "day":
      return every(DAY, (anchor ?? 0) * 60_000 - offset);
    case "week":
      // The first Monday of 1970 was the fifth of January.
      return every(7 * DAY, (4 + (anchor ?? 1) - 1) * DAY - offset);
    case "month":
      return months(1, anchor ?? 1, offset);
    case "year":
      return months(12, 1, offset);
    default:
      return every(period, start);
  }
}

/** Windows of so many months, by the dates of a clock that is `offset` ahead of UTC. */
function months(each: number, day: number, offset: number): Windows {
  const startOf = (window: number) => {
    const [first, next] = [Date.UTC(1970, window * each, 1), Date.UTC(1970, window * each + 1, 1)];
    return Math.min(first + (day - 1) * DAY, next - DAY) - offset;
  };
  return {
    startOf,
    at(time) {
      const date = new Date(time + offset);
      let window = Math.floor(((date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()) / each) + 1;
      while (startOf(window) > time) window--;
      return window;
    },
  };
}
