/** Random limits and requests for the laws. */
import fc from "fast-check";
import type { TokensConfig } from "../support/configs.js";
import { CALENDAR_MS } from "../../src/engine/kinds/policy.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { over, rational } from "../support/rational.js";
import { present } from "../../src/wire/present.js";

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

/** An ordinary time, at which the clocks of the laws start. */
export const T0 = Date.UTC(2026, 0, 1);

/** The kind that only tests have says `depth` for `capacity`. Other files read neither. */
type Sized = TokensConfig & { readonly depth?: number };

/** The tokens of a full bucket, by each kind's name for them. */
export function capacityOf(config: TokensConfig): number {
  const { rate, capacity, depth }: Sized = config;
  return capacity ?? depth ?? rate;
}

/**
 * A limit of short decimals counts exactly, in thousandths of a token, if two products are small. Multiply its rate's denominator
 * (per millisecond or window) by its tokens: at most 2^48 thousandths. Multiply it by the tokens that it may owe: at most 2^50.
 */
const EXACT_TOKENS = 2 ** 48 / 1000;
const OWED_TOKENS = 2 ** 50 / 1000;
const SHORT = 10n ** 9n;

export function isExact(config: TokensConfig): boolean {
  const { kind, rate, maxReserved = 0 } = config;
  const capacity = capacityOf(config);
  const [tokens, per] = [rational(rate), rational(kind === "token bucket" ? config.period : 1)];
  if (tokens.denominator > SHORT || per.denominator > SHORT) return false;
  const step = over(tokens, per);
  const denominator = Number(step.denominator);
  const perDay = (rate / lengthOf(config)) * DAY;
  return (
    denominator * Math.max(1, capacity, maxReserved, Number(step.numerator) / denominator) <= EXACT_TOKENS &&
    denominator * Math.max(1, 1000 * capacity, perDay) <= OWED_TOKENS
  );
}

/** One of some arbitraries, each with its weight. */
function weighted<T>(...choices: readonly (readonly [number, fc.Arbitrary<T>])[]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** Decimals with at most three places. */
function decimal(most: number): fc.Arbitrary<number> {
  const thousandths = fc.integer({ min: 1, max: most * 1000 });
  return fc.oneof(
    fc.integer({ min: 1, max: most }),
    thousandths.map((count) => count / 1000),
  );
}

const rates = fc.oneof(decimal(100), fc.constantFrom(0.001, 0.1, 0.3, 1, 2.5, 3, 7, 10, 60, 40_000));
const periods = fc.oneof(
  fc.integer({ min: 1, max: 2000 }),
  fc.constantFrom(1, 7, 16, 125, SECOND, 60 * SECOND, HOUR, DAY, 30 * DAY),
);
const fractionalPeriods = fc.oneof(periods, fc.constantFrom(0.5, 2.5, 333.3, 0.001));
const capacities = fc.option(fc.oneof(fc.constant(0), decimal(60)), { nil: undefined });
const reserves = fc.option(fc.oneof(fc.constant(0), decimal(100)), { nil: undefined });
const starts = fc.oneof(
  fc.integer({ min: 0, max: 5000 }),
  fc.constantFrom(0, T0, T0 + 1, T0 - 1, T0 + 40 * DAY, -12_345),
);

/** The limits of a kind; a field that is undefined is left out. */
function configsOf(
  kind: TokensConfig["kind"],
  fields: Readonly<Record<string, fc.Arbitrary<string | number | undefined>>>,
): fc.Arbitrary<TokensConfig> {
  return fc.record({ kind: fc.constant(kind), ...fields }).map((config) => present(config) as TokensConfig);
}

const terms = { rate: rates, period: periods, maxReserved: reserves };
/** Zones whose clocks change, in either hemisphere, by an hour and by half of one, and one whose clocks do not. */
const timeZone = fc.constantFrom(undefined, "UTC", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu");
/** Anchors of each unit: the default, and one that some months do not have. */
const calendars = Object.entries({ day: [undefined, 150], week: [undefined], month: [undefined, 31] }).map(
  ([period, anchors]) => ({ period: fc.constant(period), anchor: fc.constantFrom(...anchors), timeZone }),
);

/** Configs that count exactly in thousandths, kind by kind. The windows have a `start`, so that every key has the same ones. */
export const exactConfigs = {
  tokenBucket: configsOf("token bucket", { ...terms, period: fractionalPeriods, capacity: capacities }).filter(isExact),
  fixedWindow: configsOf("fixed window", { ...terms, capacity: capacities, start: starts }).filter(isExact),
  slidingWindow: configsOf("sliding window", terms).filter(isExact),
  calendarWindow: fc
    .oneof(...calendars.map((calendar) => configsOf("fixed window", { ...terms, ...calendar, capacity: capacities })))
    .filter(isExact),
};

/** Configs whose whole counts are exact, up to 10^9 tokens and months. */
const largeTokenBucket = fc.oneof(
  configsOf("token bucket", {
    rate: fc.constantFrom(1_000_000, 999_999_937, 1_000_000_000),
    period: fc.constantFrom(SECOND, HOUR, DAY),
    capacity: fc.constantFrom(undefined, 1_000_000_000),
    maxReserved: fc.constantFrom(undefined, 0, 1_000_000_000),
  }),
  configsOf("token bucket", {
    rate: fc.constantFrom(1, 7, 10),
    period: fc.constantFrom(30 * DAY, 31 * DAY, 365 * DAY),
    capacity: fc.constantFrom(undefined, 3, 10),
    maxReserved: fc.constantFrom(undefined, 0, 5),
  }),
);
const largeWindow = {
  rate: fc.constantFrom(999_999_937, 1_000_000_000),
  period: fc.constantFrom(SECOND, DAY, 31 * DAY),
  maxReserved: fc.constantFrom(undefined, 0),
};
const largeCapacity = fc.constantFrom(undefined, 1_000_000_000);

/** Configs that no decimal grid fits: thirds, arbitrary doubles, huge capacities that refill by next to nothing. */
const inexactTokenBucket = fc.oneof(
  configsOf("token bucket", {
    rate: fc.oneof(fc.constantFrom(1 / 3, Math.PI, 2 / 7), fc.double({ min: 0.01, max: 1e6, noNaN: true })),
    period: fc.oneof(fractionalPeriods, fc.double({ min: 0.01, max: 1e6, noNaN: true })),
    // Given, since a double next to a whole number counts as that number (units.ts: SNAP), and twin and limit would differ.
    capacity: fc.oneof(decimal(60), fc.constant(10 / 3)),
    maxReserved: fc.constantFrom(0, 7, 1000),
  }),
  configsOf("token bucket", {
    rate: fc.constantFrom(0.001, 1, 3),
    period: fc.constantFrom(DAY, 365 * DAY, 1e14 + 1),
    capacity: fc.constantFrom(1e9, 1e12),
    maxReserved: fc.constantFrom(0, 1000, 1e12),
  }),
);
const inexactWindow = {
  rate: fc.constantFrom(1 / 3, Math.PI, 2 / 7, 1000 / 3),
  period: periods,
  maxReserved: fc.constantFrom(0, 7),
};
const inexactCapacity = fc.option(fc.oneof(decimal(60), fc.constant(10 / 3)), { nil: undefined });
const inexactFixedWindow = configsOf("fixed window", { ...inexactWindow, capacity: inexactCapacity, start: starts });
export const inexactConfig = fc.oneof(inexactTokenBucket, inexactFixedWindow);

function mostly(exact: fc.Arbitrary<TokensConfig>, ...others: fc.Arbitrary<TokensConfig>[]) {
  return weighted([3, exact], ...others.map((other) => [1, other] as const));
}

/** Any limit, kind by kind. */
export const anyConfigs = {
  tokenBucket: mostly(exactConfigs.tokenBucket, largeTokenBucket, inexactTokenBucket),
  fixedWindow: mostly(
    exactConfigs.fixedWindow,
    configsOf("fixed window", { ...largeWindow, capacity: largeCapacity, start: starts }),
    inexactFixedWindow,
    // The start is a hash of the key.
    configsOf("fixed window", { ...terms, capacity: capacities }).filter(isExact),
  ),
  slidingWindow: mostly(
    exactConfigs.slidingWindow,
    configsOf("sliding window", largeWindow),
    configsOf("sliding window", inexactWindow),
  ),
  calendarWindow: exactConfigs.calendarWindow,
};

/** How a request's count relates to its limit; `countIn` makes the number. */
export type Portion = { readonly tokens: number } | { readonly share: number };

export const portion: fc.Arbitrary<Portion> = fc.oneof(
  fc.constantFrom({ tokens: 1 }, { tokens: 0.001 }, { tokens: 0 }),
  decimal(20).map((tokens) => ({ tokens })),
  fc.constantFrom({ share: 1 }, { share: 0.5 }, { share: 0.25 }),
);

/** A count that can be served: whole thousandths of small limits, whole tokens of others. */
export function countIn(config: TokensConfig, reserve: boolean, portion: Portion): number {
  const capacity = capacityOf(config);
  const { kind, rate, maxReserved = 1e6 * capacity } = config;
  // Well below what the coarsest limit can owe: 2^50 of its units. No period of a sliding window has room for more than its rate.
  const more = kind === "sliding window" ? 0 : Math.min(maxReserved, 3 * rate, 3 * capacity + 3);
  const most = capacity + (reserve ? more : 0);
  const wanted = "tokens" in portion ? portion.tokens : portion.share * most;
  const places = isExact(config) ? 1000 : 1;
  return Math.floor(Math.min(wanted, most) * places) / places;
}

/** A period, or its length on average. */
function lengthOf({ period }: Pick<TokensConfig, "period">): number {
  return typeof period === "number" ? period : CALENDAR_MS[period];
}

/** How the clock goes on before an operation. */
export type Wait = { ms: number } | { toRetry: number } | { periods: number };

export const wait: fc.Arbitrary<Wait> = fc.oneof(
  fc.constant({ ms: 0 }),
  fc.integer({ min: 0, max: 3000 }).map((ms) => ({ ms })),
  // To just before, at, or just after the last promise.
  fc.constantFrom({ toRetry: -1 }, { toRetry: 0 }, { toRetry: 1 }),
  fc.constantFrom({ periods: 0.5 }, { periods: 1 }, { periods: 3 }, { periods: 1 / 3 }),
);

/** The time after a wait, never before `now`. */
export function after(wait: Wait, config: TokensConfig, now: number, retryAt = now): number {
  const next =
    "ms" in wait
      ? now + wait.ms
      : "periods" in wait
        ? now + Math.ceil(wait.periods * lengthOf(config))
        : retryAt + wait.toRetry;
  return Math.min(END_OF_TIME, Math.max(now, next));
}

/** One request of a scenario. */
const step = fc.record({ wait, portion, reserve: fc.boolean() });
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

export function stepsUpTo(most: number): fc.Arbitrary<Step[]> {
  return fc.array(step, { minLength: 1, maxLength: most, size: "max" });
}
