/** What a config says by itself: an app with limits in the component loads no engine. */
import type { RateLimitConfig } from "../../wire/configs.js";
import { DAY_MS } from "../time.js";

/** The average length of calendar periods: a year has 365.2425 days, and a month is its twelfth part. */
export const CALENDAR_MS = {
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: (365.2425 / 12) * DAY_MS,
  year: 365.2425 * DAY_MS,
} as const;

/**
 * Which of the buckets of a key it uses: windows and leases have one for each kind and length. Undefined for a token
 * bucket.
 */
export function bucketNameOf(config: RateLimitConfig): string | undefined {
  if (config.kind === "token bucket") return undefined;
  return `${config.kind} ${config.kind === "concurrency" ? config.lease : config.period}`;
}

/**
 * What HTTP tells clients: the tokens of a full bucket, and the milliseconds in which all of them come back. A window
 * brings its tokens at once.
 */
export function policyOf(config: RateLimitConfig) {
  if (config.kind === "concurrency") return { tokens: config.slots, windowMs: config.lease };
  const { kind, rate, period, capacity = rate } = config;
  const periodMs = typeof period === "number" ? period : CALENDAR_MS[period];
  // A capacity of 0 is never full. A quotient such as 0.3 / 0.1 may lie just above the number that it stands for.
  const periods = (capacity / rate || 1) * (1 - 2 ** -48);
  const windowMs = kind === "token bucket" ? periods * periodMs : Math.ceil(periods) * periodMs;
  return { tokens: capacity, windowMs };
}
