/** A naive model of one limit with a queue: exact fractions, no shared code, no cleverness. */

export interface LedgerConfig {
  kind: "token bucket" | "fixed window";
  rate: number;
  period: number;
  capacity: number;
  maxReserved: number;
}

/** Counts in thousandths of a token, times the period: then a millisecond's accrual is a whole number. */
export class Ledger {
  private value: bigint;
  private ts: bigint;

  constructor(
    private readonly config: LedgerConfig,
    now: number,
  ) {
    this.value = this.parts(config.capacity);
    this.ts = BigInt(now);
  }

  private parts(tokens: number): bigint {
    return BigInt(Math.round(tokens * 1000)) * BigInt(this.config.period);
  }

  private accruedUntil(moment: bigint): bigint {
    const { kind, rate, period } = this.config;
    if (kind === "token bucket") return (moment - this.ts) * BigInt(rate) * 1000n;
    const windows = moment / BigInt(period) - this.ts / BigInt(period);
    return windows * this.parts(rate);
  }

  private goTo(now: number): void {
    const held = this.value + this.accruedUntil(BigInt(now));
    const most = this.parts(this.config.capacity);
    this.value = held < most ? held : most;
    this.ts = BigInt(now);
  }

  /** When the tokens will be there, found by trying one millisecond after the other; undefined when there is no room. */
  reserve(count: number, now: number): number | undefined {
    this.goTo(now);
    const left = this.value - this.parts(count);
    if (left < -this.parts(this.config.maxReserved) && left < 0n) return undefined;
    this.value = left;
    let moment = BigInt(now);
    while (this.value + this.accruedUntil(moment) < 0n) moment++;
    return Number(moment);
  }

  /** Charges, or gives back when it is negative. */
  settle(count: number, now: number): void {
    this.goTo(now);
    this.value -= this.parts(count);
    this.goTo(now);
  }

  tokensAt(now: number): number {
    this.goTo(now);
    return Number(this.value) / (1000 * this.config.period);
  }
}
