// @vitest-environment edge-runtime
/**
 * Bad input: every field, in both places and over the component's wire. Each gets an error that names the limit, the field, the
 * value and what is permitted; nothing is read or written; the gate does not open.
 */
import { anyApi, makeFunctionReference } from "convex/server";
import { defineRateLimits, projectRateLimit, type RateLimitConfig } from "convex-rate-limits";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { effort } from "../support/random.js";
import { snapshotBy } from "../support/snapshots.js";
import {
  type AnyRateLimits,
  type Backend,
  type MutationCtx,
  type PlaceName,
  component,
  defineIn,
  insertRow,
  openBackend,
  placeNames,
  rowsIn,
} from "../support/places.js";

const NOW = 1_700_000_000_000;
const bucket = { kind: "token bucket", rate: 5, period: 1000 };
const fixed = { kind: "fixed window", rate: 5, period: 1000 };
const sliding = { kind: "sliding window", rate: 5, period: 1000 };
const daily = { kind: "fixed window", rate: 5, period: "day" };

const circle: Record<string, unknown> = {};
circle["self"] = circle;
const hostile = {
  toJSON: () => {
    throw new Error("hands off");
  },
};
/** Values that are no numbers, and how a message shows them. */
const noNumbers: [unknown, string][] = [
  [NaN, "NaN"],
  [Infinity, "Infinity"],
  [-Infinity, "-Infinity"],
  ["5", '"5"'],
  [5n, "5n"],
  [null, "null"],
  [true, "true"],
  [[5], "[5]"],
  [{ valueOf: 5 }, '{"valueOf":5}'],
  [circle, "an object"],
  [hostile, "an object"],
  [{ toJSON: () => undefined }, "an object"],
  [() => 5, "a function"],
  [Symbol("5"), "a symbol"],
];
const RATE = "a number above 0 and at most 1e12";
const PERIOD = "a number above 0 and at most 1e15";
const QUANTITY = "a number at least 0 and at most 1e12";
const SHARDS = 'a whole number from 1 to 1024, "auto", or { atLeast, atMost } of such numbers';
const START = "a whole number of milliseconds at least -1e15 and at most 1e15";
const WHOLE_PERIOD = "a whole number of milliseconds above 0 and at most 1e15";
const WINDOW_PERIOD = `${WHOLE_PERIOD}, or "day", "week" or "month"`;
const KIND = '"token bucket" or "fixed window" or "sliding window"';

interface BadConfig {
  config: unknown;
  problem: string;
}

/** Values beside what a message shows of them. */
const shown = (...values: unknown[]): [unknown, string][] =>
  values.map((value) => [value, value === undefined ? "undefined" : JSON.stringify(value)]);
const must = (field: string, permitted: string, shown: string) => `${field} must be ${permitted}, got ${shown}.`;
const badValues = (base: object, field: string, permitted: string, values: [unknown, string][]): BadConfig[] =>
  values.map(([value, shown]) => ({ config: { ...base, [field]: value }, problem: must(field, permitted, shown) }));
const badNumbers = (base: object, field: string, permitted: string, ...more: unknown[]): BadConfig[] =>
  badValues(base, field, permitted, [...noNumbers, ...shown(...more)]);

/** What the wire's validators refuse or the types forbid is here too: JavaScript and the wire may bring anything. */
const badConfigs: BadConfig[] = [
  ...(
    [
      [bucket, PERIOD],
      [fixed, WINDOW_PERIOD],
      [sliding, WHOLE_PERIOD],
    ] as const
  ).flatMap(([base, period]) => [
    ...badNumbers(base, "rate", RATE, 0, -1, 1.001e12, undefined),
    ...badNumbers(base, "period", period, 0, -1000, 1.001e15, undefined),
    ...badNumbers(base, "maxReserved", QUANTITY, -0.5, 1.001e12),
    ...badNumbers(base, "shards", SHARDS, 0, -1, 1.5, 1025, "many"),
    ...badValues(base, "shards", SHARDS, shown({ atLeast: 2, atMost: 1 }, { atMost: 1025 }, { atLeast: 1, most: 2 })),
  ]),
  ...[bucket, fixed].flatMap((base) => badNumbers(base, "capacity", QUANTITY, -1, -Number.MIN_VALUE, 1.001e12)),
  ...badNumbers(fixed, "start", START, 0.5, 1e15 + 1, -1e15 - 1),
  ...badValues(fixed, "period", WINDOW_PERIOD, shown(1000.5, 0.5, "year")),
  ...badValues(sliding, "period", WHOLE_PERIOD, shown(0.5)),
  ...badValues(bucket, "kind", KIND, shown(undefined, null, 5, "leaky bucket", "toString", "__proto__")),
  ...badValues(bucket, "kind", KIND, shown(["token bucket"], ["fixed window"])),
  ...(
    [
      [{ ...fixed, timeZone: "UTC" }, "timeZone must be left out unless period is"],
      [{ ...fixed, anchor: 1 }, "anchor must be left out unless period is"],
      [{ ...daily, start: 0 }, 'start must be left out when period is "day"'],
      [{ ...daily, timeZone: "Atlantis" }, "timeZone must be the IANA name of a time zone"],
      [{ ...daily, anchor: 1440 }, "anchor must be a whole number from 0 to 1439"],
      [{ ...daily, period: "week", anchor: 0 }, "anchor must be a whole number from 1 to 7"],
      [{ ...daily, period: "month", anchor: 32 }, "anchor must be a whole number from 1 to 31"],
      [
        { ...fixed, rate: 1 / 3, capacity: 1e12 },
        `rate ${1 / 3} has too many decimals to be counted with capacity 1000000000000`,
      ],
      [{}, "kind must be"],
      [[], "kind must be"],
      [{ ...bucket, start: 0 }, '"start" is not a field of a token bucket, which has kind, rate, period,'],
      [{ ...sliding, capacity: 5 }, '"capacity" is not a field of a sliding window'],
      [{ ...bucket, burst: 3 }, '"burst" is not a field of a token bucket'],
      [{ ...fixed, burst: undefined }, '"burst" is not a field of a fixed window'],
      [{ ...fixed, ["__proto__"]: 3 }, '"__proto__" is not a field of a fixed window'],
    ] as const
  ).map(([config, problem]) => ({ config, problem })),
];
/** As a definition a config may be left out of nothing; inline, `undefined` means that there is none. */
const noConfigs = shown(null, 5, "token bucket", true);

describe("a bad definition fails at module load", () => {
  it.each(badConfigs)("$problem", ({ config, problem }) => {
    for (const place of placeNames) {
      // Whether a rate can be counted the component finds out, at the first call.
      if (place === "component" && problem.includes("to be counted")) continue;
      expect(() => defineLoosely(place, { send: config })).toThrow(`Rate limit "send": ${problem}`);
    }
  });

  it("a rate that cannot be counted is refused at the first call in the component", async () => {
    const t = openBackend();
    const limits = defineLoosely("component", { send: { ...fixed, rate: 1 / 3, capacity: 1e12 } });
    const call = t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "send" }));
    await expect(call).rejects.toThrow('Rate limit "send": rate 0.3333333333333333 has too many decimals');
    expect(await rowsIn("component", t)).toEqual([]);
  });

  it.each([...noConfigs, ...shown(undefined)])("a definition that is %s", (config, shown) => {
    for (const place of placeNames) {
      const problem = `Rate limit "send": the definition must be an object, got ${shown}.`;
      expect(() => defineLoosely(place, { send: config })).toThrow(problem);
    }
  });

  it.each([null, 1, "on", { jitter: 1.1 }])("throws: %j, and mode", (value) => {
    const shown = `got ${JSON.stringify(value)}.`;
    const permitted = "throws must be true, false or { jitter: a number from 0 to 1 }";
    const throwing = `Rate limit "send": ${permitted}, ${shown}`;
    expect(() => defineLoosely("tables", { send: { ...bucket, throws: value } })).toThrow(throwing);
    const mode = `Rate limit "send": mode must be "enforce" or "shadow", ${shown}`;
    expect(() => defineLoosely("tables", { send: { ...bucket, mode: value } })).toThrow(mode);
    const options = { throws: value } as never;
    expect(() => defineRateLimits({}, options)).toThrow(`Rate limit "defineRateLimits": ${permitted}, ${shown}`);
    const told = { onDecision: value } as never;
    expect(() => defineRateLimits({}, told)).toThrow("onDecision must be a function of ctx and a decision");
  });

  describe.each(["keyed", "overrides"])("%s", (field) => {
    it.each([null, 1, "yes", {}])("%j", (value) => {
      const problem = `Rate limit "send": ${field} must be true or false, got ${JSON.stringify(value)}.`;
      expect(() => defineLoosely("tables", { send: { ...bucket, [field]: value } })).toThrow(problem);
    });
  });

  it.each([
    [{ overrides: true }, {}, "overrides and queue cannot be combined: a queue does not read overrides."],
    [{ overrides: false }, {}, undefined],
    [{ mode: "shadow" }, {}, 'mode: "shadow" and queue cannot be combined: its jobs would still wait.'],
    [{ mode: "enforce" }, {}, undefined],
    [{}, { exact: true }, "queue.exact needs queue.maxQueued."],
  ])("%j beside a queue %j: %s", (fields, queue, problem) => {
    const define = () => defineLoosely("tables", { send: { ...bucket, ...fields, queue } });
    if (problem === undefined) expect(define).not.toThrow();
    else expect(define).toThrow(`Rate limit "send": ${problem}`);
  });

  it("a limit without a name", () => {
    const problem = `${NAME} "".`;
    expect(() => defineLoosely("tables", { "": bucket })).toThrow(problem);
  });

  it("one bad limit among good ones is named", () => {
    const definitions = { good: bucket, better: fixed, bad: { ...bucket, rate: 0 } };
    expect(() => defineLoosely("component", definitions)).toThrow('Rate limit "bad": rate');
  });

  it("a long value is cut short in the message", () => {
    const define = () => defineLoosely("tables", { send: { ...bucket, kind: "x".repeat(1e6) } });
    expect(define).toThrow(/^.{1,200}…\.$/);
  });
});

interface BadCall {
  /** What the call says of its bucket, over a limit that would be fine. */
  args: Record<string, unknown>;
  problem: string;
}

/** Bad values of one field of a call on one limit. */
const badField = (name: string, field: string, permitted: string, values: [unknown, string][], more = {}): BadCall[] =>
  values.map(([value, shown]) => bad({ name, ...more, [field]: value }, must(field, permitted, shown)));
const bad = (args: { name: string } & Record<string, unknown>, problem: string): BadCall => ({
  args,
  problem: `Rate limit "${args.name}": ${problem}`,
});

const NAME = "A rate limit's name must be a well-formed string of 1 to 128 characters (UTF-16 units), got";
const badNames: BadCall[] = [
  ...[...shown("", undefined, null, 5, ["open"]), [Symbol("open"), "a symbol"] as const].map(([name, shown]) => ({
    args: { name },
    problem: `${NAME} ${shown}.`,
  })),
  { args: { name: Object.create(null) as unknown }, problem: `${NAME} {}.` },
  { args: { name: hostile }, problem: `${NAME} an object.` },
  { args: { name: "n".repeat(129) }, problem: `${NAME} 129 characters: "nnnn` },
  { args: { name: "half \ud800" }, problem: `${NAME} "half \\ud800".` },
  { args: { name: "\udc00 half" }, problem: `${NAME} "\\udc00 half".` },
  { args: {}, problem: `${NAME} undefined.` },
];
const unknownNames = ["opne", "constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"].map((name) =>
  bad({ name }, 'is not one of your limits ("open", "mine", "shared", "strict", "patient", "spaced"); give'),
);
const KEY = "key must be a non-empty string, got";
const NEEDS_KEY = `${KEY} undefined (the limit is keyed: true).`;
const LONG_KEY = "key must be at most 256 characters (UTF-16 units) long; await hashKey(key) makes one of 64, got";
const badKeys: BadCall[] = [
  ...["open", "mine"].flatMap((name) => [
    ...badField(name, "key", "a non-empty string", [...shown("", null, 7, ["a"], { id: 7 }), [NaN, "NaN"]]),
    ...[257, 1e6].map((length) => bad({ name, key: "k".repeat(length) }, LONG_KEY)),
    ...["\ud83d", "a\udc00b", "\udc00\ud800"].map((key) =>
      bad({ name, key }, "key must be well-formed, without an unpaired surrogate, got"),
    ),
  ]),
  ...[{}, { key: undefined }, { config: bucket }].map((args) => bad({ name: "mine", ...args }, NEEDS_KEY)),
  ...[{ key: "a" }, { key: "" }, { key: null }, { key: "a", config: bucket }].map((args) => {
    const got = `got ${JSON.stringify(args.key)} (the limit is keyed: false, one bucket for all).`;
    return bad({ name: "shared", ...args }, `key must be left out, ${got}`);
  }),
];
const RESERVE = "true, false or { within: a number of milliseconds of at least 0 }";
const THROWS = "true, false or { jitter: a number from 0 to 1 }";
const noFlags = shown(null, 1, "yes", {});
const badDemands: BadCall[] = [
  ...badField("open", "count", "a finite number of at least 0", [...noNumbers, ...shown(-1, -Number.MIN_VALUE)]),
  ...badField("open", "reserve", RESERVE, [
    ...noFlags,
    ...shown({ within: -1 }, { within: "1" }, { within: NaN }, { within: 5, count: 2 }),
  ]),
  ...badField("open", "throws", THROWS, [
    ...noFlags,
    ...shown({ jitter: 2 }, { jitter: -0.1 }, { jitter: NaN }, { jitter: 1, spread: 1 }),
  ]),
];
const LEAST = "a number of at least 0 and at most count";
const badParts: BadCall[] = [
  ...badField("open", "atLeast", `${LEAST} (3)`, [...noNumbers, ...shown(-1, 3.001)], { count: 3 }),
  ...badField("open", "atLeast", `${LEAST} (1)`, shown(2)),
  ...[true, { within: 5 }].map((reserve) =>
    bad(
      { name: "strict", count: 3, atLeast: 1, reserve },
      "atLeast and reserve cannot be combined: atLeast takes only what is there now.",
    ),
  ),
  ...[5.001, 1e300].map((atLeast) =>
    bad(
      { name: "open", count: Number.MAX_VALUE, atLeast },
      `atLeast ${atLeast} can never be served: it can hold at most 5 (capacity`,
    ),
  ),
];
const badModes = badField("open", "mode", '"enforce" or "shadow"', shown(null, true, "Shadow", "enforced", {}));
const never = (args: { name: string; count: number; reserve?: boolean }, most: string | number): BadCall => {
  const wait = args.reserve ? "with a reservation " : "";
  return bad(args, `count ${args.count} can never be served: ${wait}it can hold at most ${most}`);
};
const HELD = " (capacity and maxReserved say how much).";
const neverServed: BadCall[] = [
  ...[6, 5.0001, 1e12, 1e16, 1e300, Number.MAX_VALUE].flatMap((count) => [
    never({ name: "open", count }, `5${HELD}`),
    never({ name: "strict", count, reserve: false }, `5${HELD}`),
    never({ name: "strict", count, reserve: true }, `5${HELD}`),
  ]),
  ...[8.5, 1e300, Number.MAX_VALUE].map((count) => never({ name: "patient", count, reserve: true }, `8${HELD}`)),
  ...[1e300, Number.MAX_VALUE].map((count) => never({ name: "open", count, reserve: true }, "")),
  never({ name: "spaced", count: 1 }, `0${HELD}`),
];

const ADJUSTMENT = "a number from -1e12 to 1e12";
const badAdjustments = badField("open", "count", ADJUSTMENT, [...noNumbers, ...shown(undefined, 1.001e12, -1.001e12)]);
const JOB = "cancelRateLimited needs the job that scheduleRateLimited returned, got";
/** A client that could make up a job could make up tokens: no count of it opens the gate. */
const badHandles: BadCall[] = [
  // Infinity is refused as what comes back: it is a number of at least 0.
  ...[...noNumbers.map(([count]) => count).filter((count) => count !== Infinity), undefined, -1].map((count) => ({
    count,
  })),
  ...[NaN, Infinity, "soon", null].flatMap((time) => [{ runAt: time }, { dueAt: time }]),
  { runAt: undefined },
  { id: 5 },
  // Not taken for a job without a config: that would be given back by another one.
  ...[null, 0, "", false].map((config) => ({ config })),
].map((args) => ({ args: { name: "open", ...args }, problem: JOB }));
badHandles.push(bad({ name: "open", count: Infinity }, `count must be ${ADJUSTMENT}, got -Infinity.`));
const SPREAD = "a number of milliseconds at least 0 and at most 86400000";
const badSpreads = badField("open", "spread", SPREAD, [...noNumbers, ...shown(-1, 86_400_001)]);
const noCursors = shown(null, 5, "", "open", '["mine","a"]', '["open","a","b"]', { name: "open" });
const badLists: BadCall[] = [
  ...["opne", "constructor", "__proto__"].map((name) => bad({ name }, "is not defined, so its keys cannot be listed.")),
  ...badField("open", "limit", "a whole number at least 1 and at most 1000", [...noNumbers, ...shown(0, 1001, 1.5)]),
  ...badField("open", "onlyLimited", "true or false", shown(null, 1, "yes")),
  ...badField("open", "cursor", "one that the page before returned", noCursors),
];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(placeNames)("in the %s, a call with", (place) => {
  const limits = defineLoosely(place, {
    open: bucket,
    mine: { ...bucket, keyed: true },
    shared: { ...fixed, keyed: false },
    strict: { ...fixed, maxReserved: 0 },
    patient: { ...bucket, maxReserved: 3 },
    spaced: { ...bucket, capacity: 0 },
  });

  /** Every function that takes the arguments refuses them with the same error, having touched nothing. */
  async function refuses(functions: readonly Caller[], args: object, problem: string) {
    const t = openBackend();
    for (const name of ["open", "shared", "strict", "patient"]) await insertRow(place, t, row({ name }));
    await insertRow(place, t, row({ name: "mine", key: "a" }));
    const before = await rowsIn(place, t);
    for (const name of functions) {
      await expect(
        t.mutation(async (ctx) => await callers(limits)[name](ctx, args)),
        name,
      ).rejects.toThrow(problem);
    }
    expect(await rowsIn(place, t)).toEqual(before);
  }
  const asking = ["rateLimit", "checkRateLimit"] as const;
  const several = ["rateLimitAll", "checkRateLimitAll", "rateLimitAllTwice"] as const;
  const later = ["scheduleRateLimited", "cancelRateLimited", "adjustRateLimit"] as const;
  const all = [...asking, ...several, ...later, "getRateLimit", "resetRateLimit"] as const;

  it.each(badNames)("a bad name: $problem", async ({ args, problem }) => {
    await refuses(
      all.filter((call) => call !== "cancelRateLimited"),
      args,
      problem,
    );
    // Without a name it is no job.
    await refuses(["cancelRateLimited"], args, typeof args["name"] === "string" ? problem : JOB);
  });

  it.each(badDemands)("a bad demand: $problem", async ({ args, problem }) => {
    // Several requests are thrown together, and a job always reserves.
    await refuses("throws" in args ? asking : [...asking, ...several], args, problem);
    if ("count" in args) await refuses(["scheduleRateLimited"], args, problem);
  });

  const families: [what: string, callers: readonly Caller[], bad: readonly BadCall[]][] = [
    ["an unknown name", all, unknownNames],
    ["a bad key", all, badKeys],
    ["a bad part", asking, badParts],
    ["a bad mode", [...asking, ...several, "scheduleRateLimited"], badModes],
    ["a bad adjustment", ["adjustRateLimit"], badAdjustments],
    ["a bad handle of a job", ["cancelRateLimited"], badHandles],
    ["a bad spread", ["scheduleRateLimited"], badSpreads],
    ["a bad list", ["listRateLimits"], [...badNames, ...badLists]],
  ];
  it.each(families.flatMap(([what, callers, bad]) => bad.map((call) => ({ what, callers, ...call }))))(
    "$what: $problem",
    async ({ callers, args, problem }) => {
      await refuses(callers, args, problem);
    },
  );

  const BUCKET = ["name", "key", "config", "plan"] as const;
  const DEMAND = [...BUCKET, "count", "reserve", "mode", "refundable"] as const;
  it.each([
    ["rateLimit", [...DEMAND, "atLeast", "throws"]],
    ["checkRateLimit", [...DEMAND, "atLeast", "throws"]],
    ["rateLimitAll", DEMAND],
    ["checkRateLimitAll", DEMAND],
    ["adjustRateLimit", [...BUCKET, "count", "takenAt"]],
    ["getRateLimit", BUCKET],
    ["resetRateLimit", BUCKET],
    ["scheduleRateLimited", [...BUCKET, "count", "spread", "mode", "throws"]],
    ["listRateLimits", ["cursor", "limit", "onlyLimited", "onlyOverridden"]],
  ] as const)("a field that %s does not have", async (call, known) => {
    const asked = ["name", "key", "config", "count", "reserve", "mode", "atLeast", "throws"];
    const all = [...asked, "spread", "cursor", "limit", "onlyLimited"];
    const others = all.filter((field) => field !== "name" && !known.some((name) => name === field));
    for (const field of ["throw", "cuont", "component", "__proto__", ...others]) {
      const problem = `Rate limit "open": "${field}" is not a field of ${call}, which has ${known.join(", ")}.`;
      for (const value of [true, undefined]) await refuses([call], { name: "open", [field]: value }, problem);
    }
  });

  it("the longest name and key, well-formed with pairs of surrogates, works", async () => {
    const t = openBackend();
    const name = `${"n".repeat(126)}\u{1F600}`;
    const key = `${"k".repeat(254)}\u{1F600}`;
    const { rateLimit, getRateLimit } = defineLoosely(place, { [name]: bucket });
    await t.mutation(async (ctx) => await rateLimit(ctx, { name, key, count: 5 }));
    expect(await rowsIn(place, t)).toMatchObject([{ name, key, value: 0 }]);
    expect(await t.query(async (ctx) => await getRateLimit(ctx, { name, key }))).toMatchObject({ name, value: 0 });
  });

  it.each(neverServed)("a count that no wait is long enough for: $problem", async ({ args, problem }) => {
    await refuses([...asking, "rateLimitAll", "checkRateLimitAll"], args, problem);
    const { reserve, ...job } = args;
    if (reserve === true) await refuses(["scheduleRateLimited"], job, problem);
  });

  it.each([undefined, null, 5, "", () => null, {}, [], new Date(0), anyApi["jobs"]])(
    "a job that is no function's reference, #%#",
    async (fn) => {
      const call = (ctx: MutationCtx) => untyped(limits.scheduleRateLimited)(ctx, { name: "open" }, fn);
      await refusesJob(call, 'Rate limit "open": the function must be a reference, such as internal.jobs.run, got');
    },
  );

  it.each([
    [{ at: new Date(NOW) }, "cannot be stored: "],
    [{ each: [undefined] }, "cannot be stored: "],
    [5, "must be an object, got 5."],
    [null, "must be an object, got null."],
    [[], "must be an object, got []."],
    [new ArrayBuffer(1), "must be an object, got {}."],
  ])("arguments that no job can have: %j", async (args, problem) => {
    const fn = makeFunctionReference<"mutation">("jobs:run");
    const call = (ctx: MutationCtx) => untyped(limits.scheduleRateLimited)(ctx, { name: "open" }, fn, args);
    await refusesJob(call, `Rate limit "open": the function's arguments ${problem}`);
  });

  /** The caller goes on: nothing was taken for a job that is not there. */
  async function refusesJob(call: (ctx: MutationCtx) => Promise<unknown>, problem: string) {
    const t = openBackend();
    const caught = await t.mutation((ctx) => call(ctx).then(() => "nothing", String));
    expect(caught).toContain(problem);
    expect(await rowsIn(place, t)).toEqual([]);
  }

  const open = { name: "open" };
  const both = "one bucket cannot be asked both to consume and to reserve in the same call.";
  type BadSeveral = [what: string, args: unknown[], problem: (call: string) => string];
  const badSeveral: BadSeveral[] = [
    ...shown(undefined, null, {}, "open", 5, []).map(([list, shown]): BadSeveral => [
      `that are ${shown}`,
      [list],
      (call) => `${call} needs an array of one or more requests, got ${shown}.`,
    ]),
    ...(
      [
        [{}, { reserve: true }, both],
        [{ reserve: true }, { reserve: { within: 5 } }, both],
        [{}, { config: { ...bucket, rate: 6 } }, "one bucket must have the same config in all the requests of a call."],
        [{}, { mode: "shadow" }, "one bucket cannot be both enforced and in shadow in the same call."],
      ] as const
    ).map(([one, other, problem]): BadSeveral => [
      `for one bucket in two ways: ${JSON.stringify(other)}`,
      [
        [
          { ...open, ...one },
          { ...open, ...other },
        ],
      ],
      () => `Rate limit "open": ${problem}`,
    ]),
    ...noFlags.map(([throws, shown]): BadSeveral => [
      `with throws: ${shown}`,
      [[open], { throws }],
      (call) => `Rate limit "${call}": ${must("throws", THROWS, shown)}`,
    ]),
  ];
  it.each(badSeveral)("several requests %s", async (_what, args, problem) => {
    for (const name of ["rateLimitAll", "checkRateLimitAll"] as const) {
      const t = openBackend();
      await expect(t.mutation((ctx) => untyped(limits[name])(ctx, ...args))).rejects.toThrow(problem(name));
      expect(await rowsIn(place, t)).toEqual([]);
    }
  });

  it("a bad config, inline or instead of the defined one", async () => {
    const t = openBackend();
    const bad = [
      ...badConfigs,
      ...noConfigs.map(([config, shown]) => ({ config, problem: must("config", "an object", shown) })),
    ];
    for (const { config, problem } of bad) {
      for (const name of ["open", "inline"]) {
        const call = t.mutation(async (ctx) => await untyped(limits.rateLimit)(ctx, { name, config }));
        await expect(call).rejects.toThrow(`Rate limit "${name}": ${problem}`);
      }
    }
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("names that every object has, defined as limits, works", async () => {
    const names = ["constructor", "__proto__", "toString", "hasOwnProperty"];
    const definitions = Object.fromEntries(names.map((name, i) => [name, { ...bucket, rate: i + 1 }]));
    expect(Object.keys(definitions)).toEqual(names);
    const { rateLimit, getRateLimit } = defineLoosely(place, definitions);
    const t = openBackend();
    for (const [i, name] of names.entries()) {
      const statuses = await t.mutation(async (ctx) => {
        const answers = [];
        for (let call = 0; call < i + 2; call++) answers.push(await rateLimit(ctx, { name, key: name }));
        return answers;
      });
      expect(statuses.map(({ ok }) => ok)).toEqual([...Array<boolean>(i + 1).fill(true), false]);
      const snapshot = await t.query(async (ctx) => await getRateLimit(ctx, { name, key: name }));
      expect(snapshot).toMatchObject({ name, value: 0, config: { rate: i + 1 } });
    }
  });

  it("the most that can be served is served", async () => {
    const t = openBackend();
    const ask = (args: object) => t.mutation(async (ctx) => await untyped(limits.rateLimit)(ctx, args));
    expect(await ask({ name: "open", count: 5 })).toMatchObject({ ok: true, remaining: 0 });
    expect(await ask({ name: "strict", count: 5, reserve: true })).toMatchObject({ ok: true, remaining: 0 });
    expect(await ask({ name: "patient", count: 8, reserve: true })).toMatchObject({ ok: true, retryAt: NOW + 600 });
    expect(await ask({ name: "spaced", count: 1, reserve: true })).toMatchObject({ ok: true, retryAt: NOW + 200 });
  });
});

describe.each(placeNames)("in the %s, a stored row that holds", (place) => {
  const five: RateLimitConfig = { kind: "token bucket", rate: 5, period: 1000 };
  const limits = defineIn(place, { bucket: five, window: { kind: "fixed window", rate: 5, period: 1000 } });
  it.each([
    ...[NaN, Infinity, -Infinity, 1e300, Number.MAX_VALUE, -1e300].map((value) => ({ value, ts: NOW })),
    ...[NaN, Infinity, -Infinity, -1, NOW + 0.5, 8.64e15 + 1, 1e300].map((ts) => ({ value: 5, ts })),
  ])("the value $value at the time $ts is refused until it is reset", async (state) => {
    for (const name of ["bucket", "window"]) {
      const t = openBackend();
      await insertRow(place, t, row({ name, ...state }));
      const before = await rowsIn(place, t);
      const problem =
        `Rate limit "${name}": the stored state is unusable (value ${state.value}, ts ${state.ts}), so nothing is let ` +
        "through. resetRateLimit makes it full again.";
      const other = { name, key: "other" };
      const calls: ((ctx: MutationCtx) => Promise<unknown>)[] = [
        (ctx) => limits.rateLimit(ctx, { name }),
        (ctx) => limits.rateLimit(ctx, { name, reserve: true, throws: true }),
        (ctx) => limits.checkRateLimit(ctx, { name }),
        (ctx) => limits.getRateLimit(ctx, { name }),
        (ctx) => limits.rateLimitAll(ctx, [{ name: "other", config: five }, { name }]),
        (ctx) => limits.checkRateLimitAll(ctx, [other, { name, reserve: true }]),
        (ctx) => limits.adjustRateLimit(ctx, { name, count: 1 }),
        (ctx) => limits.adjustRateLimit(ctx, { name, count: -1 }),
      ];
      for (const call of calls) await expect(t.mutation(call)).rejects.toThrow(problem);
      // A page names the damaged bucket, and goes on.
      expect(await t.query(async (ctx) => await limits.listRateLimits(ctx, { name }))).toEqual({
        page: [{ value: 0, ok: false, error: problem }],
        cursor: null,
      });
      expect(await rowsIn(place, t)).toEqual(before);
      await t.mutation(async (ctx) => await limits.resetRateLimit(ctx, { name }));
      const status = await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name }));
      expect(status).toMatchObject({ ok: true, remaining: 4 });
    }
  });

  it("garbage names its key", async () => {
    const t = openBackend();
    await insertRow(place, t, row({ name: "bucket", key: "ann", value: NaN }));
    const ask = t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "bucket", key: "ann" }));
    await expect(ask).rejects.toThrow(
      'Rate limit "bucket": the bucket of key "ann" cannot be used: the stored state is unusable (value NaN,',
    );
  });

  it("two rows for one bucket become one, from which both have taken", async () => {
    const t = openBackend();
    await insertRow(place, t, row({ name: "bucket", value: 3, ts: NOW }));
    await insertRow(place, t, row({ name: "bucket", value: 4, ts: NOW }));
    const status = await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "bucket" }));
    expect(status).toMatchObject({ ok: true, remaining: 1 });
    expect(await rowsIn(place, t)).toMatchObject([{ value: 1 }]);
  });

  it("more than the capacity counts as full, not as more", async () => {
    for (const name of ["bucket", "window"]) {
      const t = openBackend();
      await insertRow(place, t, row({ name, value: 1e12, ts: NOW }));
      const statuses = await t.mutation(async (ctx) => {
        const answers = [];
        for (let i = 0; i < 6; i++) answers.push(await limits.rateLimit(ctx, { name }));
        return answers;
      });
      expect(statuses.map(({ ok }) => ok)).toEqual([true, true, true, true, true, false]);
    }
  });

  it("a lowered capacity applies at once, however much finer the new limit counts", async () => {
    const t = openBackend();
    const daily: RateLimitConfig = { kind: "token bucket", rate: 7, period: 86_400_000 };
    const fast: RateLimitConfig = { kind: "token bucket", rate: 1000, period: 1, capacity: 1e9 };
    const ask = (config: RateLimitConfig) =>
      t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "bucket", config }));
    expect(await ask(fast)).toMatchObject({ ok: true, remaining: 1e9 - 1 });
    expect(await ask(daily)).toMatchObject({ ok: true, remaining: 6 });
  });

  it("a debt stays a debt, however much finer the new limit counts", async () => {
    const t = openBackend();
    await insertRow(place, t, row({ name: "bucket", value: -1e9, ts: NOW }));
    const config: RateLimitConfig = { kind: "token bucket", rate: 7, period: 86_400_000 };
    const ask = t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "bucket", config }));
    expect(await ask).toMatchObject({ ok: false, remaining: 0 });
  });

  it("a moment in the future gives nothing before it comes", async () => {
    for (const name of ["bucket", "window"]) {
      const t = openBackend();
      await insertRow(place, t, row({ name, value: 0, ts: 8.64e15 }));
      const ask = t.mutation(async (ctx) => await limits.rateLimit(ctx, { name }));
      expect(await ask).toMatchObject({ ok: false, retryAt: 8.64e15 });
    }
  });
});

describe("the component does not trust the wire:", () => {
  const api = component.public;
  const good = { name: "wire", config: bucket };
  const functions = {
    consume: (t: Backend, args: never) => t.mutation(async (ctx) => await ctx.runMutation(api.consume, args)),
    check: (t: Backend, args: never) => t.query(async (ctx) => await ctx.runQuery(api.check, args)),
    get: (t: Backend, args: never) => t.query(async (ctx) => await ctx.runQuery(api.get, args)),
    reset: (t: Backend, args: never) => t.mutation(async (ctx) => await ctx.runMutation(api.reset, args)),
    adjust: (t: Backend, args: object) =>
      t.mutation(async (ctx) => await ctx.runMutation(api.adjust, { count: 1, ...args } as never)),
    consumeAll: (t: Backend, args: object) =>
      t.mutation(async (ctx) => await ctx.runMutation(api.consumeAll, { requests: [args] } as never)),
    checkAll: (t: Backend, args: object) =>
      t.query(async (ctx) => await ctx.runQuery(api.checkAll, { requests: [args] } as never)),
  };
  const calls = Object.keys(functions) as (keyof typeof functions)[];

  let t: Backend;
  let before: object[];
  beforeEach(async () => {
    t = openBackend();
    await insertRow("component", t, row({ name: "wire", value: 5 }));
    before = await rowsIn("component", t);
  });
  afterEach(async () => {
    expect(await rowsIn("component", t)).toEqual(before);
  });
  const refused = (call: keyof typeof functions, args: object, problem: string | RegExp) =>
    expect(functions[call](t, args as never), call).rejects.toThrow(problem);

  it("every bad config is refused, whichever function takes it", async () => {
    // What is no value at all on the wire cannot arrive.
    const sendable = badConfigs.filter(({ config }) => isValue(config));
    expect(sendable.length).toBeGreaterThan(60);
    const takers = ["consume", "check", "get", "adjust", "consumeAll", "checkAll"] as const;
    for (const [i, { config }] of sendable.entries()) {
      // All by every function with EFFORT=1.
      for (const call of takers.filter((_, j) => effort >= 1 || j === i % takers.length))
        await refused(call, { ...good, config }, /^Rate limit "wire"|alidator/);
    }
  });

  it("numbers that the validators let through are refused with the field's name", async () => {
    const wrong = { rate: NaN, period: 0, capacity: -1, maxReserved: Infinity, shards: 0.5 };
    for (const [field, value] of Object.entries(wrong)) {
      const problem = `Rate limit "wire": ${field} must be`;
      await refused("consume", { ...good, config: { ...bucket, [field]: value } }, problem);
    }
    for (const count of [NaN, Infinity, -Infinity, -1]) {
      for (const call of ["consume", "check", "consumeAll", "checkAll"] as const)
        await refused(call, { ...good, count }, 'Rate limit "wire": count must be');
    }
    for (const count of [NaN, Infinity, -Infinity, 1.1e12, -1.1e12]) {
      await refused("adjust", { ...good, count }, 'Rate limit "wire": count must be a number from -1e12 to 1e12');
    }
    for (const count of [6, 1e300, Number.MAX_VALUE]) {
      for (const call of ["consume", "check"] as const) await refused(call, { ...good, count }, "can never be served");
    }
  });

  it("empty names and keys are refused", async () => {
    for (const call of calls) {
      const config = call === "reset" ? {} : { config: bucket };
      await refused(call, { name: "", ...config }, NAME);
      await refused(call, { name: "wire", key: "", ...config }, `Rate limit "wire": ${KEY} "".`);
    }
  });

  it("bad pages and bad sweeps are refused", async () => {
    const t = openBackend();
    const list = (args: object) => t.query(async (ctx) => await ctx.runQuery(api.list, { ...good, ...args } as never));
    await expect(list({ limit: 0 })).rejects.toThrow('Rate limit "wire": limit must be');
    await expect(list({ config: { ...bucket, rate: 0 } })).rejects.toThrow('Rate limit "wire": rate must be');
    await expect(list({ cursor: '["other"]' })).rejects.toThrow('Rate limit "wire": cursor must be');
    await expect(list({ cursor: 5 })).rejects.toThrow("alidator");
    const sweep = (args: object) =>
      t.mutation(async (ctx) => await ctx.runMutation(component.sweep.sweep, args as never));
    const targets = [{ name: "wire", configs: [{ ...bucket, period: -1 }] }];
    await expect(sweep({ targets })).rejects.toThrow('Rate limit "wire": period must be');
    await expect(sweep({ targets: [], cursor: "?" })).rejects.toThrow("cursor must be");
    await expect(sweep({ targets: [{ name: "wire" }] })).rejects.toThrow("alidator");
    const twice = [
      { name: "wire", configs: [bucket] },
      { name: "wire", configs: [] },
    ];
    expect(await sweep({ targets: twice })).toEqual({ deleted: 0, isDone: true });
  });

  it("what is missing, unknown or of the wrong type is refused by the validators", async () => {
    for (const call of calls) {
      const args = call === "reset" ? { name: "wire" } : good;
      for (const wrong of [{ name: 5 }, { name: null }, { key: 5 }, { key: null }, { shard: 1 }, { now: 0 }]) {
        await refused(call, { ...args, ...wrong }, "alidator");
      }
      await refused(call, {}, "alidator");
    }
    for (const call of ["consume", "check"] as const) {
      for (const wrong of [{ count: "5" }, { count: null }, { count: 5n }, { reserve: "yes" }, { throws: true }]) {
        await refused(call, { ...good, ...wrong }, "alidator");
      }
    }
  });
});

describe("projectRateLimit refuses", () => {
  const snapshot = snapshotBy({ name: "send", value: 3, ts: NOW, config: { ...bucket, kind: "token bucket" } });
  const project = (spoilt: object, options: object = {}) =>
    projectRateLimit({ ...snapshot, ...spoilt }, { now: NOW, ...options });

  it("nothing that getRateLimit returns", () => {
    expect(project({})).toEqual({ ok: true, remaining: 2, resetAt: NOW + 600 });
  });

  it.each([
    ...[...noNumbers, [1e300, "1e+300"] as const].map(([now]) => [
      { now },
      "now must be milliseconds since the epoch, got",
    ]),
    ...[-1, NaN, Infinity, 6, "5", null].map((count) => [{ count }, "count must be from 0 to 5"]),
  ] as [object, string][])("%o: %s", (options, problem) => {
    expect(() => project({}, options)).toThrow(`Rate limit "send": ${problem}`);
  });

  it.each([undefined, null, 5, "send", {}])("%s in place of a snapshot", (given) => {
    expect(() => projectRateLimit(given as never, { now: NOW })).toThrow("needs a snapshot");
  });
});

/** The types forbid what is tried here. */
function defineLoosely(place: PlaceName, limits: Record<string, unknown>): AnyRateLimits {
  return defineIn(place, limits as Parameters<typeof defineIn>[1]);
}

type Caller = keyof ReturnType<typeof callers>;

/** Every function, called with what a call says of its bucket. */
function callers(limits: AnyRateLimits) {
  const job = makeFunctionReference<"mutation">("jobs:run");
  const handle = { count: 1, runAt: NOW, id: "none" };
  type Call = (ctx: MutationCtx, args: object) => Promise<unknown>;
  return {
    rateLimit: untyped(limits.rateLimit),
    checkRateLimit: untyped(limits.checkRateLimit),
    getRateLimit: untyped(limits.getRateLimit),
    resetRateLimit: untyped(limits.resetRateLimit),
    listRateLimits: untyped(limits.listRateLimits),
    adjustRateLimit: (ctx, args) => untyped(limits.adjustRateLimit)(ctx, { count: 1, ...args }),
    rateLimitAll: (ctx, args) => untyped(limits.rateLimitAll)(ctx, [{ name: "open", key: "another" }, args]),
    rateLimitAllTwice: (ctx, args) => untyped(limits.rateLimitAll)(ctx, [args, args]),
    checkRateLimitAll: (ctx, args) => untyped(limits.checkRateLimitAll)(ctx, [args, { name: "open", key: "another" }]),
    scheduleRateLimited: (ctx, args) => untyped(limits.scheduleRateLimited)(ctx, args, job),
    cancelRateLimited: (ctx, args) => untyped(limits.cancelRateLimited)(ctx, { ...handle, ...args }),
  } satisfies Record<string, Call>;
}

function untyped(call: AnyRateLimits[keyof AnyRateLimits]) {
  return call as (ctx: MutationCtx, ...args: unknown[]) => Promise<unknown>;
}

function row(fields: { name: string; key?: string; value?: number; ts?: number }) {
  return { value: 2, ts: NOW, ...fields };
}

/** Whether something could be sent as an argument: no functions, symbols, undefined fields, circles. */
function isValue(config: unknown): boolean {
  return (
    typeof config === "object" &&
    config !== null &&
    Object.entries(config).every(
      ([field, value]) =>
        !field.startsWith("_") &&
        !["undefined", "function", "symbol"].includes(typeof value) &&
        value !== circle &&
        !(typeof value === "object" && value !== null && "toJSON" in value),
    )
  );
}
