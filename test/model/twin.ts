/**
 * The naive twin: what a limit must answer, written from the rules alone (design: "The algebra"), in exact fractions. It
 * shares no code with src/; of the package it knows the public types only.
 *
 * The rules. A bucket holds `value` tokens at `ts`, the moment of its last write; one that was never written is full. From
 * `ts` on a token bucket gains `rate / period` tokens every millisecond, a fixed window `rate` tokens at every window's
 * start; more than `capacity` it never holds, and before `ts` it stands as at `ts`. Taking subtracts.
 */
import type { RateLimitConfig, RateLimitStatus } from "convex-rate-limits";
import {
  ceilOf,
  floorOf,
  fraction,
  isLess,
  least,
  minus,
  over,
  plus,
  type Rational,
  rational,
  times,
  toNumber,
  ZERO,
} from "./rational.js";

/** The last millisecond that a JavaScript Date can name; a limit promises nothing later. */
export const LAST_MOMENT = 8_640_000_000_000_000n;

/** A config whose windows have a known start. */
export type TwinConfig = RateLimitConfig & { start?: number | undefined };

export interface TwinDemand {
  readonly count: number;
  readonly reserve: boolean;
}

interface Bucket {
  readonly value: Rational;
  readonly ts: number;
}

interface Rules {
  readonly kind: RateLimitConfig["kind"];
  readonly rate: Rational;
  readonly period: Rational;
  readonly capacity: Rational;
  /** How far below zero reservations may go; undefined for as far as they like. */
  readonly lowest: Rational | undefined;
  readonly start: bigint;
}

export class Twin {
  readonly #buckets = new Map<string, Bucket>();
  readonly #read: (number: number) => Rational;

  /** @param read - which fraction a number stands for: the decimal that it is written as, or the double that it is. */
  constructor(read: (number: number) => Rational = rational) {
    this.#read = read;
  }

  check(config: TwinConfig, id: string, now: number, demand: TwinDemand): RateLimitStatus {
    return this.#decide(config, id, now, demand).status;
  }

  consume(config: TwinConfig, id: string, now: number, demand: TwinDemand): RateLimitStatus {
    const { status, after } = this.#decide(config, id, now, demand);
    if (status.ok && demand.count > 0) this.#buckets.set(id, after);
    return status;
  }

  /** What the bucket held at its last write, and when that was, whatever the clock says. */
  get(config: TwinConfig, id: string): { value: number; ts: number } {
    const rules = this.#rules(config);
    const { value, ts } = this.#bucket(rules, id);
    return { value: toNumber(least(rules.capacity, value)), ts };
  }

  level(config: TwinConfig, id: string, now: number): Rational {
    const rules = this.#rules(config);
    return levelAt(rules, this.#bucket(rules, id), now);
  }

  /** The tokens that have come in since the last write; those that a full bucket lets go by do not count. */
  gainedSinceWrite(config: TwinConfig, id: string, now: number): Rational {
    const rules = this.#rules(config);
    const bucket = this.#bucket(rules, id);
    return minus(levelAt(rules, bucket, now), least(rules.capacity, bucket.value));
  }

  isFull(config: TwinConfig, id: string, now: number): boolean {
    return !isLess(this.level(config, id, now), this.#rules(config).capacity);
  }

  forget(id: string): void {
    this.#buckets.delete(id);
  }

  /** The answer to a request, and the bucket as the request leaves it. */
  #decide(config: TwinConfig, id: string, now: number, { count, reserve }: TwinDemand) {
    const rules = this.#rules(config);
    const before = this.#bucket(rules, id);
    const asked = this.#read(count);
    const left = minus(levelAt(rules, before, now), asked);
    const floor = reserve ? rules.lowest : ZERO;
    const resetsAt = (bucket: Bucket) => resetAt(rules, bucket, now);
    if (floor !== undefined && isLess(left, floor)) {
      const retryAt = firstHolding(rules, before, plus(floor, asked));
      const remaining = remainingOf(levelAt(rules, before, now));
      const status: RateLimitStatus = { ok: false, retryAt, remaining, resetAt: resetsAt(before) };
      return { status, after: before };
    }
    // Taking nothing is no write.
    const after = count === 0 ? before : { value: left, ts: Math.max(before.ts, now) };
    const owed = isLess(left, ZERO) ? { retryAt: firstHolding(rules, after, ZERO) } : {};
    const status: RateLimitStatus = { ok: true, ...owed, remaining: remainingOf(left), resetAt: resetsAt(after) };
    return { status, after };
  }

  #bucket({ capacity }: Rules, id: string): Bucket {
    return this.#buckets.get(id) ?? { value: capacity, ts: 0 };
  }

  #rules({ kind, rate, period, capacity = rate, maxReserved, start = 0 }: TwinConfig): Rules {
    return {
      kind,
      rate: this.#read(rate),
      period: this.#read(period as number),
      capacity: this.#read(capacity),
      lowest: maxReserved === undefined ? undefined : minus(ZERO, this.#read(maxReserved)),
      start: BigInt(start),
    };
  }
}

/** Which window a moment lies in, counted from `start`. */
function windowAt({ start, period }: Rules, moment: number): bigint {
  return floorOf(over(fraction(BigInt(moment) - start, 1n), period));
}

/** The tokens that arrive after `from`, up to and including `to`. */
function gained(rules: Rules, from: number, to: number): Rational {
  if (to <= from) return ZERO;
  const periods =
    rules.kind === "token bucket"
      ? over(fraction(BigInt(to - from), 1n), rules.period)
      : fraction(windowAt(rules, to) - windowAt(rules, from), 1n);
  return times(periods, rules.rate);
}

function levelAt(rules: Rules, { value, ts }: Bucket, now: number): Rational {
  return least(rules.capacity, plus(value, gained(rules, ts, now)));
}

/** The first whole millisecond, from the last write on, at which the bucket holds `wanted`. */
function firstHolding(rules: Rules, bucket: Bucket, wanted: Rational): number {
  const missing = minus(wanted, least(rules.capacity, bucket.value));
  if (!isLess(ZERO, missing)) return bucket.ts;
  const periods = over(missing, rules.rate);
  const moment =
    rules.kind === "token bucket"
      ? BigInt(bucket.ts) + ceilOf(times(periods, rules.period))
      : rules.start + (windowAt(rules, bucket.ts) + ceilOf(periods)) * rules.period.numerator;
  if (moment > LAST_MOMENT) return Number(LAST_MOMENT);
  const first = Number(moment);
  if (isLess(levelAt(rules, bucket, first), wanted) || !isLess(levelAt(rules, bucket, first - 1), wanted)) {
    throw new Error(`The twin is wrong: ${first} is not the first moment`);
  }
  return first;
}

function remainingOf(level: Rational): number {
  return isLess(level, ZERO) ? 0 : Number(floorOf(level));
}

/** When the bucket is full again; for windows, the start of the next one. */
function resetAt(rules: Rules, bucket: Bucket, now: number): number {
  if (rules.kind === "token bucket") return Math.max(now, firstHolding(rules, bucket, rules.capacity));
  const next = rules.start + (windowAt(rules, Math.max(bucket.ts, now)) + 1n) * rules.period.numerator;
  return Number(next > LAST_MOMENT ? LAST_MOMENT : next);
}
