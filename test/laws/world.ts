/**
 * Where the laws are tried: every home with every setting of shards. A law that is written with `inEveryWorld` runs in all.
 */
import type { RateLimitConfig, RateLimitSnapshot, RateLimitStatus } from "convex-rate-limits";
import { afterEach, beforeEach, describe, vi } from "vitest";
import {
  defineIn,
  type PlaceName,
  placeNames,
  type MutationCtx,
  openBackend,
  insertRow,
  rowsIn,
  type StoredRow,
} from "../support/places.js";
import { T0 } from "./arbitraries.js";

/** How many shards a limit has. */
export interface ShardSetting {
  readonly title: string;
  /** Whether the limit is one row, whose answers are exact and not only safe. */
  readonly whole: boolean;
  /** The `shards` of a config at the nth call to a backend, so that a setting may change them on a live limit. */
  readonly shardsAt: (call: number) => number | "auto";
}

/** The one list of settings that the laws run with. */
export const shardSettings: readonly ShardSetting[] = [
  { title: "one shard", whole: true, shardsAt: () => 1 },
  { title: "2 shards", whole: false, shardsAt: () => 2 },
  { title: "7 shards", whole: false, shardsAt: () => 7 },
  { title: "16 shards", whole: false, shardsAt: () => 16 },
  { title: '"auto" shards', whole: false, shardsAt: () => "auto" },
  {
    title: "a number of shards that changes at every call",
    whole: false,
    shardsAt: (call) => CHANGES[call % CHANGES.length] ?? 1,
  },
];
/** Up and down, by one level and by many, to one row and from it. */
const CHANGES = [1, 16, 2, 64, 1, 256, 4, 8, 1] as const;

export interface Request {
  readonly key?: string | undefined;
  readonly config: RateLimitConfig;
  readonly count?: number;
  readonly reserve?: boolean;
}

export type World = ReturnType<typeof openWorld>;

/** A fresh backend, its limits, and its clock, which stands still until it is set. */
export function openWorld(home: PlaceName, setting: ShardSetting) {
  const t = openBackend();
  const limits = defineIn(home, {});
  let calls = 0;
  const named = <Args extends { config: RateLimitConfig }>(args: Args) => ({
    ...args,
    name: "limit",
    config: { shards: setting.shardsAt(calls++), ...args.config },
  });
  return {
    whole: setting.whole,
    setClock: (now: number) => {
      vi.setSystemTime(now);
    },
    consume: (request: Request): Promise<RateLimitStatus> => t.mutation((ctx) => limits.rateLimit(ctx, named(request))),
    check: (request: Request): Promise<RateLimitStatus> =>
      t.query((ctx) => limits.checkRateLimit(ctx as never, named(request))),
    get: (place: Pick<Request, "key" | "config">): Promise<RateLimitSnapshot> =>
      t.query((ctx) => limits.getRateLimit(ctx as never, named(place))),
    reset: (place: Pick<Request, "key" | "config">): Promise<null> =>
      t.mutation((ctx) => limits.resetRateLimit(ctx, named(place))),
    /** Several calls in one transaction of the app. */
    mutation: <T>(body: (ctx: MutationCtx, consume: (request: Request) => Promise<RateLimitStatus>) => Promise<T>) =>
      t.mutation((ctx) => body(ctx, (request) => limits.rateLimit(ctx, named(request)))),
    rows: () => rowsIn(home, t),
    plant: (row: Partial<StoredRow>) => insertRow(home, t, { name: "limit", shard: 1, value: 0, ts: T0, ...row }),
  };
}

/** Within a describe: the clock is at T0 until a test sets it. */
export function underFakeClock(): void {
  // Hundreds of transactions a property, on a machine that does other things as well.
  vi.setConfig({ testTimeout: 60_000 });
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: T0 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** Runs a law in every home, with every setting of shards; `open` gives a fresh world of that kind, at T0. */
export function inEveryWorld(
  law: string,
  body: (open: () => World, home: PlaceName, setting: ShardSetting) => void,
): void {
  describe(law, () => {
    underFakeClock();
    describe.each(placeNames)("in the %s home", (home) => {
      describe.each(shardSettings)("with $title", (setting) => {
        beforeEach(() => {
          share = setting.whole ? 1 : SHARDED_SHARE;
        });
        const open = () => {
          vi.setSystemTime(T0);
          return openWorld(home, setting);
        };
        body(open, home, setting);
      });
    });
  });
}

/** Ten worlds have shards and two have not: each of the ten gets a part of the runs, so that together they get as many. */
const SHARDED_SHARE = 1 / 5;
let share = 1;

/** Seeds are random; LAWS_SEED repeats one that a failure printed. */
export const runs = (numRuns: number) => ({
  numRuns: Math.ceil(numRuns * share),
  ...(process.env["LAWS_SEED"] === undefined ? {} : { seed: Number(process.env["LAWS_SEED"]) }),
});

/** How often a case must at least have come up in the runs, so that the property has not been true of nothing. */
export const enough = (times: number): number => Math.floor(times * share * share);
