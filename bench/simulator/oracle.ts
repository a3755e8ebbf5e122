/**
 * The judge: one exact bucket, written for clarity, in whole numbers, sharing no code with what it judges. Quantities are
 * counted in parts of a token such that one millisecond accrues a whole number of them.
 */

/** A limit as the oracle knows it: numbers with at most three decimals, a whole period. A sliding window's capacity is its rate. */
export interface BucketConfig {
  readonly kind: "token bucket" | "fixed window" | "sliding window";
  readonly rate: number;
  readonly period: number;
  readonly capacity: number;
  /** Some moment at which a window begins; for fixed windows. */
  readonly start?: number;
  readonly maxReserved?: number;
}

/** Tokens that were asked for, or that started work, at a moment in ms. */
export interface Grant {
  readonly atMs: number;
  readonly count: number;
}

export class ExactBucket {
  #parts: bigint;
  #ts: bigint | undefined;
  readonly #capacity: bigint;
  readonly #period: bigint;
  /** What a sliding window has to give back, oldest first, and how many of these have come back. */
  readonly #taken: { readonly atMs: number; readonly parts: bigint }[] = [];
  #returned = 0;

  constructor(readonly config: BucketConfig) {
    this.#period = BigInt(config.period);
    this.#capacity = this.#partsOf(config.capacity);
    this.#parts = this.#capacity;
  }

  /** Tokens now; negative when more was charged than there was. */
  get tokens(): number {
    return Number(this.#parts) / (1000 * this.config.period);
  }

  /** Takes the tokens if they are there. */
  take({ atMs, count }: Grant): boolean {
    this.#advance(atMs);
    const parts = this.#partsOf(count);
    if (parts > this.#parts) return false;
    this.#spend(atMs, parts);
    return true;
  }

  /** Whether the tokens are there; takes nothing. */
  holds({ atMs, count }: Grant): boolean {
    this.#advance(atMs);
    return this.#partsOf(count) <= this.#parts;
  }

  /** Takes the tokens, there or not, and says how long the bucket then needs until it owes nothing; a sliding window does not say. */
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
    // The first use finds it full, whenever that is.
    const from = this.#ts ?? now;
    if (now >= from) {
      const accrued = this.config.kind === "sliding window" ? this.#leaving(atMs) : this.#accrued(from, now);
      const full = this.#parts + accrued > this.#capacity;
      this.#parts = full ? this.#capacity : this.#parts + accrued;
      this.#ts = now;
    }
  }

  #spend(atMs: number, parts: bigint): void {
    this.#parts -= parts;
    this.#taken.push({ atMs, parts });
  }

  /** What was taken a period ago or earlier, and has not come back. */
  #leaving(atMs: number): bigint {
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
  // BigInt division goes towards zero; windows before the start need the floor.
  return sinceStart >= 0n ? sinceStart / period : -((-sinceStart + period - 1n) / period);
}

function milli(tokens: number): bigint {
  const thousandths = Math.round(tokens * 1000);
  if (thousandths / 1000 !== tokens) throw new Error(`${tokens} has more than three decimals.`);
  return BigInt(thousandths);
}

/**
 * The tokens by which `grants` exceed what the limit allows: over all intervals, the most that started work minus
 * `capacity + accrued`. Grants count at the moment their decision was made for (`Date.now()` of the attempt, or the moment a
 * reservation runs), in the order of those moments: the bound speaks of intervals of that clock.
 *
 * @param spreadMs - how far the clocks that dated the grants may be apart: what accrues in that time cannot be told apart
 * from an over-grant.
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

/** The most that can accrue in any interval of that length, rounded up to a thousandth. */
function accruedIn({ kind, rate, period }: BucketConfig, lengthMs: number): number {
  if (kind !== "token bucket") return rate * Math.ceil(lengthMs / period);
  return Math.ceil((1000 * rate * lengthMs) / period) / 1000;
}

/** The tokens that one exact bucket would admit of these arrivals, first come, first served, from a moment on. */
export function possible(config: BucketConfig, arrivals: readonly Grant[], fromMs = -Infinity): number {
  const bucket = new ExactBucket(config);
  const taken = [...arrivals].sort((a, b) => a.atMs - b.atMs).filter((arrival) => bucket.take(arrival));
  return sum(taken.filter(({ atMs }) => atMs >= fromMs));
}

/** How many of the denials were wrong: one exact bucket that had granted what was granted until then held the tokens. */
export function falseDenials(config: BucketConfig, grants: readonly Grant[], denials: readonly Grant[]): number {
  const bucket = new ExactBucket(config);
  const events = [
    ...grants.map((grant) => ({ grant, isDenial: false })),
    ...denials.map((grant) => ({ grant, isDenial: true })),
  ];
  // Of the same millisecond the grants come first: what they took a denial did not find.
  events.sort((a, b) => a.grant.atMs - b.grant.atMs || Number(a.isDenial) - Number(b.isDenial));
  let wrong = 0;
  for (const { grant, isDenial } of events) {
    if (!isDenial) bucket.charge(grant);
    else if (bucket.holds(grant)) wrong++;
  }
  return wrong;
}

/** The mean wait, in ms, if one exact bucket took these reservations without bound, in the order of their moments. */
export function meanWait(config: BucketConfig, reservations: readonly Grant[]): number {
  const bucket = new ExactBucket(config);
  const waits = [...reservations].sort((a, b) => a.atMs - b.atMs).map((reservation) => bucket.charge(reservation));
  return waits.reduce((total, wait) => total + wait, 0) / Math.max(1, waits.length);
}

export function sum(grants: readonly Grant[]): number {
  return grants.reduce((total, { count }) => total + count, 0);
}
