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

/** A config whose windows have a known start. */
export type TwinConfig = RateLimitConfig & { start?: number | undefined };

interface TwinBucket {
  readonly value: Rational;
  readonly ts: number;
}

export interface TwinDemand {
  readonly count: number;
  readonly reserve: boolean;
}

export class Twin {
  readonly #buckets = new Map<string, TwinBucket>();

  /** The answer to a request, and the bucket as the request leaves it. */
  #decide(config: TwinConfig, id: string, now: number, { count, reserve }: TwinDemand) {
    const before = this.#bucket(config, id);
    const asked = rational(count);
    const left = minus(levelAt(config, before, now), asked);
    const floor = reserve ? lowest(config) : undefined;
    const ok = !isLess(left, ZERO) || (reserve && (floor === undefined || !isLess(left, floor)));
    const taken = ok && count > 0;
    const after = taken ? { value: left, ts: Math.max(before.ts, now) } : before;
    const retryAt = ok
      ? isLess(levelAt(config, after, now), ZERO)
        ? firstHolding(config, after, ZERO)
        : undefined
      : firstHolding(config, before, plus(floor ?? ZERO, asked));
    const status = {
      ok,
      ...(retryAt === undefined ? {} : { retryAt }),
      remaining: remainingOf(levelAt(config, after, now)),
      resetAt: resetAt(config, after, now),
    } as RateLimitStatus;
    return { status, after, taken };
  }

  check(config: TwinConfig, id: string, now: number, demand: TwinDemand): RateLimitStatus {
    return this.#decide(config, id, now, demand).status;
  }

  consume(config: TwinConfig, id: string, now: number, demand: TwinDemand): RateLimitStatus {
    const { status, after, taken } = this.#decide(config, id, now, demand);
    if (taken) this.#buckets.set(id, after);
    return status;
  }

  /** What the bucket held at its last write, and when that was, whatever the clock says. */
  get(config: TwinConfig, id: string): { value: number; ts: number } {
    const { value, ts } = this.#bucket(config, id);
    return { value: toNumber(least(capacityOf(config), value)), ts };
  }

  level(config: TwinConfig, id: string, now: number): Rational {
    return levelAt(config, this.#bucket(config, id), now);
  }

  isWritten(id: string): boolean {
    return this.#buckets.has(id);
  }

  isFull(config: TwinConfig, id: string, now: number): boolean {
    return !isLess(this.level(config, id, now), capacityOf(config));
  }

  forget(id: string): void {
    this.#buckets.delete(id);
  }

  #bucket(config: TwinConfig, id: string): TwinBucket {
    return this.#buckets.get(id) ?? { value: capacityOf(config), ts: 0 };
  }
}

function capacityOf({ rate, capacity = rate }: TwinConfig): Rational {
  return rational(capacity);
}

/** How far below zero reservations may go; undefined for as far as they like. */
function lowest({ maxReserved }: TwinConfig): Rational | undefined {
  return maxReserved === undefined ? undefined : minus(ZERO, rational(maxReserved));
}

/** Which window `now` lies in, counted from `start`. */
function windowAt({ period, start = 0 }: TwinConfig & { start?: number | undefined }, now: number): bigint {
  return floorOf(fraction(BigInt(now) - BigInt(start), BigInt(period)));
}

/** The tokens that arrive after `from`, up to and including `to`. */
function gained(config: TwinConfig, from: number, to: number): Rational {
  if (to <= from) return ZERO;
  const periods =
    config.kind === "token bucket"
      ? over(rational(to - from), rational(config.period))
      : fraction(windowAt(config, to) - windowAt(config, from), 1n);
  return times(periods, rational(config.rate));
}

function levelAt(config: TwinConfig, { value, ts }: TwinBucket, now: number): Rational {
  return least(capacityOf(config), plus(value, gained(config, ts, now)));
}

/** The first whole millisecond, from the last write on, at which the bucket holds `wanted`. */
function firstHolding(config: TwinConfig, bucket: TwinBucket, wanted: Rational): number {
  const missing = minus(wanted, least(capacityOf(config), bucket.value));
  if (!isLess(ZERO, missing)) return bucket.ts;
  const periods = over(missing, rational(config.rate));
  const moment =
    config.kind === "token bucket"
      ? BigInt(bucket.ts) + ceilOf(times(periods, rational(config.period)))
      : BigInt(config.start ?? 0) + (windowAt(config, bucket.ts) + ceilOf(periods)) * BigInt(config.period);
  const first = Number(moment);
  if (isLess(levelAt(config, bucket, first), wanted) || !isLess(levelAt(config, bucket, first - 1), wanted)) {
    throw new Error(`The twin is wrong: ${first} is not the first moment`);
  }
  return first;
}

function remainingOf(level: Rational): number {
  return isLess(level, ZERO) ? 0 : Number(floorOf(level));
}

/** When the bucket is full again; for windows, the start of the next one. */
function resetAt(config: TwinConfig, bucket: TwinBucket, now: number): number {
  if (config.kind === "token bucket") return Math.max(now, firstHolding(config, bucket, capacityOf(config)));
  const next = windowAt(config, Math.max(bucket.ts, now)) + 1n;
  return Number(BigInt(config.start ?? 0) + next * BigInt(config.period));
}
