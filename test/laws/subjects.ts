/** The kinds of limits for which the laws are tested. A new kind is one more entry. */
import type fc from "fast-check";
import type { TokensConfig } from "../support/configs.js";
import { anyConfigs, exactConfigs } from "./arbitraries.js";

export interface Subject {
  readonly title: string;
  /** Limits that count exactly in thousandths of a token, whose windows have a known start. */
  readonly exact: fc.Arbitrary<TokensConfig>;
  /** Any limit of the kind. */
  readonly any: fc.Arbitrary<TokensConfig>;
  /** For a kind that refills at its own pace: how far its refill is at a time, in ms. */
  readonly tide?: (time: number) => number;
}

const builtIn = (
  [
    ["a token bucket", "tokenBucket"],
    ["a fixed window", "fixedWindow"],
    ["a sliding window", "slidingWindow"],
    ["a calendar window", "calendarWindow"],
  ] as const
).map(([title, kind]): Subject => ({ title, exact: exactConfigs[kind], any: anyConfigs[kind] }));

let chosen = builtIn;

/** The kinds for which the laws of this test file are tested: the package's own, unless the file has chosen others. */
export function subjects(): readonly Subject[] {
  return chosen;
}

/** To be called before the laws are imported, and without others when they have run. */
export function choose(others = builtIn): void {
  chosen = others;
}

/** How far the refill of a kind is at a time, in ms of its rate. Without a pace of its own it follows the clock. */
export function paceAt({ kind }: TokensConfig, time: number): number {
  const isBuiltIn = ["token bucket", "fixed window", "sliding window"].includes(kind);
  return isBuiltIn ? time : (chosen[0]?.tide?.(time) ?? time);
}

/** Whether the wire's validators know the kinds, so that a whole backend takes their configs. */
export function areOnTheWire(): boolean {
  return chosen === builtIn;
}
