/**
 * A law that is written with `inEveryWorld` runs for every kind, in both places, on one row and on several. fast-check also chooses
 * the number of rows and the random numbers of a call, so a seed repeats all of a run.
 */
import { projectRateLimit } from "convex-rate-limits/client";
import type { RateLimitedJob } from "convex-rate-limits/jobs";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import { defineIn, type PlaceName, placeNames, type StoredRow } from "../support/places.js";
import { type Backend, jobs, type MutationCtx, openStage, type Stage } from "../support/stage.js";
import { useClock } from "../support/clock.js";
import { crossed, effort, randomFrom, runs as share } from "../support/random.js";
import { END_OF_WALK } from "./accrual.js";
import { after, countIn, type Step, T0 } from "./arbitraries.js";
import { areOnTheWire, type Subject, subjects } from "./subjects.js";

type Shards = TokensConfig["shards"];

/** The `shards` of the nth call to a backend: a setting may change them on a live limit. */
type Setting = readonly Shards[];

const oneRow: readonly Setting[] = [[undefined], [1]];
const severalRows: readonly Setting[] = [
  ...([2, 7, 16, "auto", { atLeast: 4, atMost: 16 }, { atLeast: 64 }] as const).map((shards) => [shards]),
  // Up and down, by one level and by many, to one row and from it.
  [1, { atLeast: 16 }, 2, 64, 1, { atLeast: 256 }, 4, "auto", 8, 1],
];

export const places = placeNames.map((place) => ({ place }));
const rows = [
  { title: "one row", isOneRow: true, settings: oneRow },
  { title: "several rows", isOneRow: false, settings: severalRows },
];

export interface Request {
  readonly key?: string | undefined;
  readonly config: TokensConfig;
  readonly count?: number;
  readonly reserve?: boolean | { within: number };
  readonly refundable?: boolean;
  readonly throws?: boolean;
}
type Bucket = Pick<Request, "key" | "config">;

export type World = ReturnType<typeof openWorld>;
export type Calls = Parameters<Parameters<World["mutation"]>[0]>[0];

/** A fresh backend, its limits, and its clock, which shows T0 until it is set. */
function openWorld(place: PlaceName, backend: Backend, setting: Setting, seed: number) {
  vi.setSystemTime(T0);
  // Only a whole backend knows the wire.
  const stage = openStage(place, areOnTheWire() ? backend : "light");
  const limits = defineIn(place, {});
  let random = randomFrom(seed);
  let calls = 0;
  /** Each world has its own random numbers, also if two are played together. */
  const mutation: Stage["mutation"] = (body) => {
    vi.spyOn(Math, "random").mockImplementation(() => random());
    return stage.mutation(body);
  };
  /** The config with the next number of rows, unless it has one. */
  const configured = (config: TokensConfig): TokensConfig => {
    const shards = setting[calls++ % setting.length];
    return shards === undefined ? config : { shards, ...config };
  };
  const named = <Args extends Bucket>(args: Args) => ({ ...args, name: "limit", config: configured(args.config) });
  /** The calls within a mutation. */
  const within = (ctx: MutationCtx) => ({
    consume: (request: Request) => limits.rateLimit(ctx, named(request)),
    check: (request: Request) => limits.checkRateLimit(ctx, named(request)),
    get: ({ key, config }: Bucket) => limits.getRateLimit(ctx, named({ key, config })),
    reset: ({ key, config }: Bucket) => limits.resetRateLimit(ctx, named({ key, config })),
    adjust: (args: Bucket & { count: number; takenAt?: number }) => limits.adjustRateLimit(ctx, named(args)),
    pause: (args: Bucket & { until: number }) => limits.pauseRateLimit(ctx, named(args)),
    schedule: (args: Bucket & { count: number }) => limits.scheduleRateLimited(ctx, named(args), jobs.run),
    cancel: (job: RateLimitedJob) => limits.cancelRateLimited(ctx, job),
    sweep: () => limits.sweepRateLimits(ctx, { next: jobs.sweep }),
  });
  type Calls = ReturnType<typeof within>;
  const callNames = Object.keys(within({} as MutationCtx)) as (keyof Calls)[];
  const call = (name: keyof Calls) => (args: never) => mutation<unknown>((ctx) => within(ctx)[name](args));
  /** Each in a transaction of its own. */
  const alone = Object.fromEntries(callNames.map((name) => [name, call(name)])) as unknown as Calls;
  return {
    ...alone,
    configured,
    setClock: (now: number) => {
      vi.setSystemTime(now);
    },
    /** Makes the requests of steps until the calendar ends. A step may wait for the `retryAt` that the step before returned. */
    walk: async (
      config: TokensConfig,
      steps: readonly Step[],
      make: (request: { config: TokensConfig; count: number; reserve: boolean }, now: number) => Promise<unknown>,
    ) => {
      let now = T0;
      let last: unknown;
      for (const { wait, portion, reserve } of steps) {
        now = after(wait, config, now, typeof last === "number" ? last : undefined);
        if (now >= END_OF_WALK) return;
        vi.setSystemTime(now);
        last = await make({ config, count: countIn(config, reserve, portion), reserve }, now);
      }
    },
    /** The next random number is this one, and later ones are just below 1. */
    draw: (number: number) => {
      const drawn = [number];
      random = () => drawn.shift() ?? 0.99;
    },
    /** The tokens that all rows hold, and whether the bucket owes. */
    held: async ({ config }: Bucket) => projectRateLimit(await alone.get({ config }), { now: Date.now(), count: 0 }),
    /** Several calls in one transaction of the app. */
    mutation: <T>(body: (calls: Calls) => Promise<T>) => mutation((ctx) => body(within(ctx))),
    rows: async () => (await stage.rows()).sort((a, b) => (a._id < b._id ? -1 : 1)),
    plant: (row: Partial<StoredRow>) => stage.plant({ name: "limit", value: 0, ts: T0, ...row }),
  };
}

/** Within a describe: the clock is at T0 until a test sets it. */
export function underFakeClock(): void {
  // Hundreds of transactions a property, on a machine that does other things as well.
  vi.setConfig({ testTimeout: 60_000 });
  useClock(T0, "Date");
}

/** Opens fresh worlds, all alike: the same rows and the same random numbers. */
type Open<Opened = World> = (backend?: Backend) => Opened;

function openersOf<Opened>(
  settings: readonly Setting[],
  open: (backend: Backend, setting: Setting, seed: number) => Opened,
): fc.Arbitrary<Open<Opened>> {
  return fc.tuple(fc.constantFrom(...settings), fc.nat()).map(([setting, seed]) => {
    const opener: Open<Opened> = (backend = "light") => open(backend, setting, seed);
    return Object.assign(opener, { toString: () => JSON.stringify({ setting, seed }) });
  });
}

/** A world for an example, in a place, with a number of rows. */
export function worldIn(place: PlaceName, shards: Shards, backend: Backend = "light"): World {
  return openWorld(place, backend, [shards], 1);
}

/** A world in your tables and one in the component, alike in rows and random numbers. */
export function inBothPlaces(): fc.Arbitrary<Open<World[]>> {
  return openersOf([...oneRow, ...severalRows], (...world) => placeNames.map((place) => openWorld(place, ...world)));
}

/** One of the worlds that a law is tried in. */
export interface Where {
  /** Openers of worlds, for a property. */
  readonly worlds: fc.Arbitrary<Open>;
  readonly subject: Subject;
  /** Whether the limit is one row, whose answers are exact and not only safe. */
  readonly isOneRow: boolean;
}

/** Runs a law on every kind, in both places, on one row and on several. */
export function inEveryWorld(law: string, body: (where: Where) => void): void {
  describe(law, () => {
    underFakeClock();
    describe.each(subjects().map((subject, turn) => ({ ...subject, turn })))("$title", ({ turn, ...subject }) => {
      describe.each(crossed(places, rows, turn))("in the $place on $title", ({ place, isOneRow, settings }) => {
        const worlds = openersOf(settings, (...world) => openWorld(place, ...world));
        body({ worlds, subject, isOneRow });
      });
    });
  });
}

interface Often<Name extends string> {
  /** The runs in each of sixteen worlds (four kinds, two places, one row or several) at EFFORT=1. */
  readonly runs: number;
  /** The least number of each case in five times the runs. Without it a property that met no case would pass. */
  readonly least?: Readonly<Record<Name, number>>;
}

/** Tests a property of random values, which counts its cases. */
export function holds<Values extends [unknown, ...unknown[]], Name extends string = never>(
  title: string,
  { runs, least }: Often<Name>,
  arbitraries: { [At in keyof Values]: fc.Arbitrary<Values[At]> },
  property: (...values: [...Values, Record<Name, number>]) => Promise<void>,
): void {
  it(title, async () => {
    const needed = Object.entries<number>(least ?? {});
    const seen = Object.fromEntries(needed.map(([name]) => [name, 0])) as Record<Name, number>;
    const tried = fc.asyncProperty(...arbitraries, (...values: Values) => property(...values, seen));
    await fc.assert(tried as fc.IAsyncProperty<unknown>, { numRuns: share(runs) });
    for (const [name, times] of needed) {
      expect(seen[name as Name], name).toBeGreaterThan(Math.floor((times * effort) / 5));
    }
  });
}
