/**
 * The oracle: one exact bucket in whole numbers. It is written for clarity, and shares no code with what it judges. It counts parts
 * of a token, chosen so that one millisecond accrues a whole number of them.
 */

/**
 * A limit as the oracle knows it. Its numbers have at most three decimals, and its period is whole. A sliding window's capacity is its
 * rate.
 */
export interface BucketConfig {
  readonly kind: "token bucket" | "fixed window" | "sliding window";
  readonly rate: number;
  readonly period: number;
  readonly capacity: number;
  /** For fixed windows: any time at which a window begins, in ms. */
  readonly start?: number;
  readonly maxReserved?: number;
}

/** Tokens that were requested or granted at a time in ms. */
export interface Grant {
  readonly atMs: number;
  readonly count: number;
}

export class ExactBucket {
  #parts: bigint;
  #ts: bigint | undefined;
  readonly #capacity: bigint;
  readonly #period: bigint;
  /** The parts that were taken, oldest first: a sliding window gives them back after a period. */
  readonly #taken: { readonly atMs: number; readonly parts: bigint }[] = [];
  /** The number of entries of `#taken` that a sliding window has given back. */
  #returned = 0;

  constructor(readonly config: BucketConfig) {
    this.#period = BigInt(config.period);
    this.#capacity = this.#partsOf(config.capacity);
    this.#parts = this.#capacity;
  }

  /** The tokens in the bucket; negative if more was charged than it held. */
  get tokens(): number {
    return Number(this.#parts) / (1000 * this.config.period);
  }

  /** Takes the tokens if the bucket holds them. */
  take({ atMs, count }: Grant): boolean {
    this.#advance(atMs);
    const parts = this.#partsOf(count);
    if (parts > this.#parts) return false;
    this.#spend(atMs, parts);
    return true;
  }

  /** Whether the bucket holds the tokens. Takes none. */
  holds({ atMs, count }: Grant): boolean {
    this.#advance(atMs);
    return this.#partsOf(count) <= this.#parts;
  }

  /**
   * Takes the tokens even if the bucket does not hold them. Returns the time in ms after which the bucket owes nothing, or NaN if a
   * sliding window owes.
   */
  charge({ atMs, count }: Grant): number {
    this.#advance(atMs);
    this.#spend(atMs, this.#partsOf(count));
    if (this.#parts >= 0n) return 0;
    const { kind, rate, start = 0, period } = this.config;
    if (kind === "sliding window") return NaN;
    const perStep = milli(rate) * (kind === "token bucket" ? 1n : this.#period);
    const steps = Number((-this.#parts + perStep - 1n) / perStep);
    if (kind === "token bucket") return steps;
    return start + (Math.floor((atMs - start) / period) + steps) * period - atMs;
  }

  #advance(atMs: number): void {
    const now = BigInt(atMs);
    // The first use, at any time, finds the bucket full.
    const from = this.#ts ?? now;
    if (now >= from) {
      const accrued = this.config.kind === "sliding window" ? this.#giveBack(atMs) : this.#accrued(from, now);
      const full = this.#parts + accrued > this.#capacity;
      this.#parts = full ? this.#capacity : this.#parts + accrued;
      this.#ts = now;
    }
  }

  #spend(atMs: number, parts: bigint): void {
    this.#parts -= parts;
    this.#taken.push({ atMs, parts });
  }

  /** Returns the parts that were taken at least one period ago and had not been given back. */
  #giveBack(atMs: number): bigint {
    let parts = 0n;
    for (; (this.#taken[this.#returned]?.atMs ?? Infinity) <= atMs - this.config.period; this.#returned++) {
      parts += this.#taken[this.#returned]?.parts ?? 0n;
    }
    return parts;
  }

  #accrued(from: bigint, to: bigint): bigint {
    const rate = milli(this.config.rate);
    if (this.config.kind === "token bucket") return (to - from) * rate;
    const start = BigInt(this.config.start ?? 0);
    return (windowAt(to - start, this.#period) - windowAt(from - start, this.#period)) * rate * this.#period;
  }

  #partsOf(tokens: number): bigint {
    return milli(tokens) * this.#period;
  }
}

function windowAt(sinceStart: bigint, period: bigint): bigint {
  // BigInt division rounds towards zero; windows before the start need the floor.
  return sinceStart >= 0n ? sinceStart / period : -((-sinceStart + period - 1n) / period);
}

function milli(tokens: number): bigint {
  const thousandths = Math.round(tokens * 1000);
  // The last bits of a product of decimals say nothing.
  if (Math.abs(thousandths / 1000 - tokens) > tokens * 2 ** -50)
    throw new Error(`${tokens} has more than three decimals.`);
  return BigInt(thousandths);
}

/**
 * The tokens by which `grants` exceed what the limit allows: the largest excess of any interval over `capacity + accrued`. A grant
 * counts at the time for which it was decided: `Date.now()` of the attempt, or the time at which a reservation runs. Grants are
 * judged in the order of these times, because the bound is about intervals of that clock.
 *
 * @param spreadMs - the largest difference between the clocks that dated the grants. Tokens that accrue in that time are not
 * counted, because they cannot be told from an over-grant.
 */
export function overGrant(config: BucketConfig, grants: readonly Grant[], spreadMs = 0): number {
  const bucket = new ExactBucket({ ...config, capacity: config.capacity + accruedIn(config, spreadMs) });
  let least = 0;
  for (const grant of [...grants].sort((a, b) => a.atMs - b.atMs)) {
    bucket.charge(grant);
    least = Math.min(least, bucket.tokens);
  }
  return -least || 0;
}

/** The most tokens that can accrue in any interval of this length, rounded up to a thousandth. */
function accruedIn({ kind, rate, period }: BucketConfig, lengthMs: number): number {
  if (kind !== "token bucket") return rate * Math.ceil(lengthMs / period);
  return Math.ceil((1000 * rate * lengthMs) / period) / 1000;
}

/** The tokens that one exact bucket would admit of these arrivals, first come, first served. Only those since `fromMs` count. */
export function possible(config: BucketConfig, arrivals: readonly Grant[], fromMs = -Infinity): number {
  const bucket = new ExactBucket(config);
  const taken = [...arrivals].sort((a, b) => a.atMs - b.atMs).filter((arrival) => bucket.take(arrival));
  return sum(taken.filter(({ atMs }) => atMs >= fromMs));
}

/** The number of denials that were wrong: one exact bucket, after the same grants until then, held the tokens. */
export function falseDenials(config: BucketConfig, grants: readonly Grant[], denials: readonly Grant[]): number {
  const bucket = new ExactBucket(config);
  const events = [
    ...grants.map((grant) => ({ grant, isDenial: false })),
    ...denials.map((grant) => ({ grant, isDenial: true })),
  ];
  // Within one millisecond grants come first, because a denial may be due to the tokens that they took.
  events.sort((a, b) => a.grant.atMs - b.grant.atMs || Number(a.isDenial) - Number(b.isDenial));
  let wrong = 0;
  for (const { grant, isDenial } of events) {
    if (!isDenial) bucket.charge(grant);
    else if (bucket.holds(grant)) wrong++;
  }
  return wrong;
}

/** The mean wait in ms if one exact bucket takes these reservations without a bound, in the order of their times. */
export function meanWait(config: BucketConfig, reservations: readonly Grant[]): number {
  const bucket = new ExactBucket(config);
  const waits = [...reservations].sort((a, b) => a.atMs - b.atMs).map((reservation) => bucket.charge(reservation));
  return waits.reduce((total, wait) => total + wait, 0) / Math.max(1, waits.length);
}

export function sum(grants: readonly Grant[]): number {
  return grants.reduce((total, { count }) => total + count, 0);
}
