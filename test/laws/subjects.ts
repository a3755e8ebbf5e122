/** The kinds of limits that the laws are tried on. A new kind is one more entry. */
import type { RateLimitConfig } from "convex-rate-limits";
import type fc from "fast-check";
import { anyConfigs, exactConfigs } from "./arbitraries.js";

export interface Subject {
  readonly title: string;
  /** Limits that count exactly in thousandths of a token, whose windows have a known start. */
  readonly exact: fc.Arbitrary<RateLimitConfig>;
  /** Any limit of the kind. */
  readonly any: fc.Arbitrary<RateLimitConfig>;
}

const titles = {
  tokenBucket: "a token bucket",
  fixedWindow: "a fixed window",
  slidingWindow: "a sliding window",
  calendarWindow: "a calendar window",
};

const builtIn: readonly Subject[] = (["tokenBucket", "fixedWindow", "slidingWindow", "calendarWindow"] as const).map(
  (kind) => ({ title: titles[kind], exact: exactConfigs[kind], any: anyConfigs[kind] }),
);

let chosen = builtIn;

/** The kinds that the laws of this test file are tried on: the package's own, unless the file has chosen others. */
export function subjects(): readonly Subject[] {
  return chosen;
}

/** To be called before the laws are imported. */
export function choose(others: readonly Subject[]): void {
  chosen = others;
}
