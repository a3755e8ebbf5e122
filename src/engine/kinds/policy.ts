/** What HTTP tells clients of a limit. It reads a config alone: an app with limits in the component loads no engine. */
import type { RateLimitConfig } from "../../wire/configs.js";

/** The average length of calendar periods: 400 years are 146,097 days. */
const CALENDAR_MS = {
  day: 86_400_000,
  week: 604_800_000,
  month: 2_629_746_000,
  year: 31_556_952_000,
};

/**
 * The tokens of a full bucket, and the milliseconds in which all of them come back: a window brings its tokens at once.
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
