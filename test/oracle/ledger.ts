/**
 * What started when, against law 1: over every interval, and in total. It knows nothing of rows. Refunded tokens count as never
 * started, and gifts add what they give.
 */
import type { Terms } from "./terms.js";

export interface Grant {
  readonly start: number;
  units: bigint;
}
/** What may start beyond the bound: the freedoms of a mode. */
export interface Slack {
  /** Tokens that may start beyond the bound of an interval. */
  readonly interval: bigint;
  /** By so much an interval counts as longer: clocks that disagree, and starts in whole milliseconds. */
  readonly ms: number;
}

export class Ledger {
  readonly grants: Grant[] = [];
  readonly #gifts: Grant[] = [];

  /** @param began - when the bucket was full: the first call, or a reset. */
  constructor(private readonly began: number) {}

  grant(start: number, units: bigint): Grant {
    const grant = { start, units };
    this.grants.push(grant);
    return grant;
  }
  gift(at: number, units: bigint): void {
    this.#gifts.push({ start: at, units: -units });
  }

  /** What is wrong, or nothing. @param most - the largest rate and capacity of all terms that held. */
  problem(most: Terms, slack: Slack): string | undefined {
    // Within a millisecond the order is not known, so an interval holds all of it or none.
    const byTime = new Map<number, bigint>();
    for (const { start, units } of [...this.grants, ...this.#gifts]) {
      if (units !== 0n) byTime.set(start, (byTime.get(start) ?? 0n) + units);
    }
    const events = Array.from(byTime, ([start, units]) => ({ start, units })).sort((a, b) => a.start - b.start);
    return overTotal(events, most, this.began, slack.ms) ?? overInterval(events, most, slack);
  }
}

/** What has arrived between two times, besides a full bucket. */
function arrived(terms: Terms, from: number, to: number): bigint {
  if (terms.kind === "token bucket") return terms.perMs * BigInt(to - from);
  return terms.rate * BigInt(terms.windows.at(to) - terms.windows.at(from));
}

function overTotal(events: readonly Grant[], most: Terms, began: number, ms: number): string | undefined {
  // A sliding window has no total that its intervals do not have.
  if (most.kind === "sliding window") return undefined;
  let started = 0n;
  for (const { start, units } of events) {
    started += units;
    const over = started - most.capacity - arrived(most, began, start + ms);
    if (over > 0n) return `${tokens(over, most)} more than there were have started by ${start}`;
  }
  return undefined;
}

/**
 * Exactly: the largest sum over all pairs of times. Of a bucket and a fixed window `sum(i..j) - arrived(i, j)` is a difference of two
 * sums from the beginning, so the largest is found with the least sum before. A sliding window is looked at through its period.
 */
function overInterval(events: readonly Grant[], most: Terms, slack: Slack): string | undefined {
  if (most.kind === "sliding window") return overPeriod(events, most, slack);
  const [first] = events;
  if (!first) return undefined;
  let before = 0n;
  let least: bigint | undefined;
  for (const { start, units } of events) {
    const came = arrived(most, first.start, start);
    if (least === undefined || before - came < least) least = before - came;
    before += units;
    const over = before - arrived(most, first.start, start + slack.ms) - least - most.capacity - slack.interval;
    if (over > 0n) return `${tokens(over, most)} too many in an interval that ends at ${start}`;
  }
  return undefined;
}

function overPeriod(events: readonly Grant[], most: Terms, slack: Slack): string | undefined {
  const period = most.periodMs - slack.ms;
  let within = 0n;
  let oldest = 0;
  for (const { start, units } of events) {
    within += units;
    for (let old = events[oldest]; old && old.start <= start - period; old = events[++oldest]) within -= old.units;
    const over = within - most.capacity - slack.interval;
    if (over > 0n) return `${tokens(over, most)} too many in a period that ends at ${start}`;
  }
  return undefined;
}

function tokens(units: bigint, { perToken }: Terms): number {
  return Number((units * 1000n) / perToken) / 1000;
}
