/** Random configs and choices of the players. The same seed draws the same. */
import { randomFrom } from "../support/random.js";
import { type Config, DAY, PERIODS, T0, ZONES } from "./terms.js";

export class Dice {
  readonly next: () => number;
  constructor(seed: number) {
    this.next = randomFrom(seed);
  }
  int(below: number): number {
    return Math.floor(this.next() * below);
  }
  /** A whole number from the first up to the second. */
  from(least: number, most: number): number {
    return least + this.int(most - least + 1);
  }
  pick<Item>(items: readonly Item[]): Item {
    return items[this.int(items.length)] as Item;
  }
  chance(probability: number): boolean {
    return this.next() < probability;
  }
  /** A name, as likely as its weight. */
  weighted<Name extends string>(weights: Readonly<Partial<Record<Name, number>>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new Error("no weights");
  }
}

const RATES = [1, 2, 3, 5, 7, 10, 20] as const;
const KINDS = ["token bucket", "fixed window", "sliding window"] as const;
const CALENDAR = ["day", "week", "month"] as const;

/** What all configs of a world share, so that they share a bucket. */
export interface Family {
  readonly kind: Config["kind"];
  readonly period: Config["period"];
  /** A fixed window that saves up more than one window brings. */
  readonly isSaving: boolean;
  readonly maxReserved: number | undefined;
  readonly start: number;
  readonly rate: number;
}

export function drawFamily(dice: Dice, kind = dice.pick(KINDS)): Family {
  const isCalendar = kind === "fixed window" && dice.chance(0.4);
  return {
    kind,
    period: isCalendar ? dice.pick(CALENDAR) : dice.pick(PERIODS),
    isSaving: dice.chance(0.3),
    maxReserved: dice.pick([undefined, undefined, 0, 4, 15]),
    start: T0 - dice.int(100_000),
    rate: dice.pick(RATES),
  };
}

/**
 * A config of a family. If its windows move (other zones, anchors and starts), its rate does not change. Freedom: the design does not say
 * what a window that moves and is raised at once holds, so that is not played.
 */
export function drawConfig(dice: Dice, family: Family, isMoved = false): Config {
  const { kind, period, maxReserved, isSaving } = family;
  const rate = isMoved ? family.rate : dice.pick(RATES);
  const reserved = maxReserved === undefined ? {} : { maxReserved };
  if (kind === "sliding window") return { kind, rate, period, ...reserved };
  if (kind === "token bucket") {
    const capacity = dice.pick([undefined, 1, 2, 5, 10, 30]);
    return { kind, rate, period, ...(capacity !== undefined && { capacity }), ...reserved };
  }
  const saved = isSaving ? { capacity: rate + (isMoved ? 7 : dice.from(1, 20)) } : {};
  const config = { kind, rate, period, ...saved, ...reserved };
  if (typeof period === "number") return { ...config, start: isMoved ? family.start + dice.int(period) : family.start };
  if (!isMoved) return config;
  return { ...config, timeZone: dice.pick(Object.keys(ZONES)), anchor: dice.pick(ANCHORS[period]) };
}
const ANCHORS = { day: [0, 60, 450], week: [1, 3, 7], month: [1, 15, 31], year: [1] } as const;

/** How long a config's tokens take to come: the scale of a world's time. */
export function periodMs({ period }: Pick<Config, "period">): number {
  return typeof period === "number" ? period : { day: DAY, week: 7 * DAY, month: 30 * DAY, year: 365 * DAY }[period];
}
