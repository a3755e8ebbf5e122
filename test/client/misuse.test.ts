// @vitest-environment edge-runtime
/**
 * Bad input: every field, in both places and over the component's wire. Each gets an error that names the limit, the field, the
 * value and what is permitted; nothing is read or written; the gate does not open.
 */
import { anyApi, makeFunctionReference } from "convex/server";
import { defineRateLimits, projectRateLimit } from "convex-rate-limits";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { type Calls, useBackend } from "../support/limits.js";
import { effort } from "../support/random.js";
import { snapshotBy } from "../support/snapshots.js";
import {
  type AnyRateLimits,
  type MutationCtx,
  type PlaceName,
  component,
  defineIn,
  openBackend,
  placeNames,
  rowsIn,
} from "../support/places.js";

useClock();

const bucket = { kind: "token bucket", rate: 5, period: 1000 } as const;
const fixed = { kind: "fixed window", rate: 5, period: 1000 } as const;
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
const SHARDS = 'a whole number from 1 to 2048, "auto", or { atLeast, atMost } of such numbers';
const START = "a whole number of milliseconds at least -1e15 and at most 1e15";
const WHOLE_PERIOD = "a whole number of milliseconds above 0 and at most 1e15";
const WINDOW_PERIOD = `${WHOLE_PERIOD}, or "day", "week" or "month"`;
const THROWS = "true, false or { jitter: a number from 0 to 1 }";
const NAME = "A rate limit's name must be a well-formed string of 1 to 128 characters (UTF-16 units), got";
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
    ...badNumbers(base, "shards", SHARDS, 0, -1, 1.5, 2049, "many"),
    ...badValues(base, "shards", SHARDS, shown({ atLeast: 2, atMost: 1 }, { atMost: 2049 }, { atLeast: 1, most: 2 })),
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

type BadDefinition = [fields: object, problem: string];
const badDefinitions: BadDefinition[] = [
  ...shown(null, 1, "on", { jitter: 1.1 }).flatMap(([value, got]): BadDefinition[] => [
    [{ throws: value }, must("throws", THROWS, got)],
    [{ mode: value }, must("mode", '"enforce" or "shadow"', got)],
  ]),
  ...["keyed", "overrides"].flatMap((field) =>
    shown(null, 1, "yes", {}).map(([value, got]): BadDefinition => [
      { [field]: value },
      must(field, "true or false", got),
    ]),
  ),
  [{ overrides: true, queue: {} }, "overrides and queue cannot be combined: a queue does not read overrides."],
  [{ mode: "shadow", queue: {} }, 'mode: "shadow" and queue cannot be combined: its jobs would still wait.'],
  [{ queue: { exact: true } }, "queue.exact needs queue.maxQueued."],
];

describe("a bad definition fails at module load", () => {
  const defining = (definition: unknown, place: PlaceName = "tables") =>
    expect(() => defineLoosely(place, { send: definition }));

  it.each(badConfigs)("$problem", ({ config, problem }) => {
    for (const place of placeNames) {
      // Whether a rate can be counted the component finds out, at the first call.
      if (place === "component" && problem.includes("to be counted")) continue;
      defining(config, place).toThrow(`Rate limit "send": ${problem}`);
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
      defining(config, place).toThrow(`Rate limit "send": the definition must be an object, got ${shown}.`);
    }
  });

  it.each(badDefinitions)("%j: %s", (fields, problem) => {
    defining({ ...bucket, ...fields }).toThrow(`Rate limit "send": ${problem}`);
  });

  it.each([{ overrides: false }, { mode: "enforce" }])("a queue beside %j is none", (fields) => {
    defining({ ...bucket, ...fields, queue: {} }).not.toThrow();
  });

  it.each(shown(null, 1, "on", { jitter: 1.1 }))("the options throws and onDecision: %j", (value, got) => {
    const options = (given: object) => expect(() => defineRateLimits({}, given as never));
    options({ throws: value }).toThrow(`Rate limit "defineRateLimits": ${must("throws", THROWS, got)}`);
    options({ onDecision: value }).toThrow("onDecision must be a function of ctx and a decision");
  });

  it("a limit without a name, and one bad limit among good ones, is named", () => {
    expect(() => defineLoosely("tables", { "": bucket })).toThrow(`${NAME} "".`);
    const definitions = { good: bucket, better: fixed, bad: { ...bucket, rate: 0 } };
    expect(() => defineLoosely("component", definitions)).toThrow('Rate limit "bad": rate');
  });

  it("a long value is cut short in the message", () => {
    defining({ ...bucket, kind: "x".repeat(1e6) }).toThrow(/^.{1,200}…\.$/);
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
const noFlags = shown(null, 1, "yes", {});
const badCounts = badField("open", "count", "a finite number of at least 0", [
  ...noNumbers,
  ...shown(-1, -Number.MIN_VALUE),
]);
const badReservations = badField("open", "reserve", RESERVE, [
  ...noFlags,
  ...shown({ within: -1 }, { within: "1" }, { within: NaN }, { within: 5, count: 2 }),
]);
const badThrows = badField("open", "throws", THROWS, [
  ...noFlags,
  ...shown({ jitter: 2 }, { jitter: -0.1 }, { jitter: NaN }, { jitter: 1, spread: 1 }),
]);
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

describe.each(placeNames)("in the %s, a call with", (place) => {
  const { define, open, insert, rows, mutation } = useBackend(place);
  const limits = define({
    open: bucket,
    mine: { ...bucket, keyed: true },
    shared: { ...fixed, keyed: false },
    strict: { ...fixed, maxReserved: 0 },
    patient: { ...bucket, maxReserved: 3 },
    spaced: { ...bucket, capacity: 0 },
  });

  /** Every function that takes the arguments refuses them with the same error, having touched nothing. */
  async function refuses(functions: readonly Caller[], args: object, problem: string) {
    open();
    await insert(
      ...["open", "shared", "strict", "patient"].map((name) => row({ name })),
      row({ name: "mine", key: "a" }),
    );
    const before = await rows();
    for (const name of functions) await expect(callers(limits)[name](args), name).rejects.toThrow(problem);
    expect(await rows()).toEqual(before);
  }
  const asking = ["rateLimit", "checkRateLimit"] as const;
  const several = ["rateLimitAll", "checkRateLimitAll", "rateLimitAllTwice"] as const;
  const later = ["scheduleRateLimited", "cancelRateLimited", "adjustRateLimit"] as const;
  const all = [...asking, ...several, ...later, "getRateLimit", "resetRateLimit"] as const;

  /** Of a job that is cancelled, the handle is wrong. */
  const asHandle = ({ args, problem }: BadCall) => ({
    args,
    problem: typeof args["name"] === "string" ? problem : JOB,
  });
  /** A job always reserves. */
  const asJob = ({ args: { reserve, ...args }, problem }: BadCall) => (reserve === true ? [{ args, problem }] : []);
  const families: [what: string, callers: readonly Caller[], bad: readonly BadCall[]][] = [
    ["a bad name", all.filter((call) => call !== "cancelRateLimited"), badNames],
    ["a bad name", ["cancelRateLimited"], badNames.map(asHandle)],
    ["an unknown name", all, unknownNames],
    ["a bad key", all, badKeys],
    ["a bad count", [...asking, ...several, "scheduleRateLimited"], badCounts],
    ["a bad reservation", [...asking, ...several], badReservations],
    // Several requests are thrown together.
    ["a bad throws", asking, badThrows],
    ["a bad part", asking, badParts],
    ["a bad mode", [...asking, ...several, "scheduleRateLimited"], badModes],
    ["a count that no wait is long enough for", [...asking, "rateLimitAll", "checkRateLimitAll"], neverServed],
    ["a count that no wait is long enough for", ["scheduleRateLimited"], neverServed.flatMap(asJob)],
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
    const name = `${"n".repeat(126)}\u{1F600}`;
    const key = `${"k".repeat(254)}\u{1F600}`;
    const { rateLimit, getRateLimit } = define({ [name]: bucket });
    await rateLimit({ name, key, count: 5 });
    expect(await rows()).toMatchObject([{ name, key, value: 0 }]);
    expect(await getRateLimit({ name, key })).toMatchObject({ name, value: 0 });
  });

  const job = makeFunctionReference<"mutation">("jobs:run");
  const REFERENCE = "the function must be a reference, such as internal.jobs.run, got";
  const ARGUMENTS = "the function's arguments";
  it.each([
    ...[undefined, null, 5, "", () => null, {}, [], new Date(0), anyApi["jobs"]].map((fn) => ({
      fn,
      args: {},
      problem: REFERENCE,
    })),
    { fn: job, args: { at: new Date(NOW) }, problem: `${ARGUMENTS} cannot be stored: ` },
    { fn: job, args: { each: [undefined] }, problem: `${ARGUMENTS} cannot be stored: ` },
    ...[5, null, [], new ArrayBuffer(1)].map((args) => ({
      fn: job,
      args,
      problem: `${ARGUMENTS} must be an object, got ${JSON.stringify(args)}.`,
    })),
  ])("a job that no scheduler can run, #%#: $problem", async ({ fn, args, problem }) => {
    // The caller goes on: nothing was taken for a job that is not there.
    const call = (ctx: MutationCtx) => limits.within(ctx).scheduleRateLimited({ name: "open" }, fn, args);
    expect(await mutation((ctx) => call(ctx).then(() => "nothing", String))).toContain(`Rate limit "open": ${problem}`);
    expect(await rows()).toEqual([]);
  });

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
      [[one, other].map((demand) => ({ name: "open", ...demand }))],
      () => `Rate limit "open": ${problem}`,
    ]),
    ...noFlags.map(([throws, shown]): BadSeveral => [
      `with throws: ${shown}`,
      [[{ name: "open" }], { throws }],
      (call) => `Rate limit "${call}": ${must("throws", THROWS, shown)}`,
    ]),
  ];
  it.each(badSeveral)("several requests %s", async (_what, args, problem) => {
    for (const name of ["rateLimitAll", "checkRateLimitAll"] as const) {
      await expect(limits[name](...args)).rejects.toThrow(problem(name));
    }
    expect(await rows()).toEqual([]);
  });

  it("a bad config, inline or instead of the defined one", async () => {
    const none = noConfigs.map(([config, shown]) => ({ config, problem: must("config", "an object", shown) }));
    for (const { config, problem } of [...badConfigs, ...none]) {
      for (const name of ["open", "inline"]) {
        await expect(limits.rateLimit({ name, config })).rejects.toThrow(`Rate limit "${name}": ${problem}`);
      }
    }
    expect(await rows()).toEqual([]);
  });

  it("names that every object has, defined as limits, works", async () => {
    const names = ["constructor", "__proto__", "toString", "hasOwnProperty"];
    const definitions = Object.fromEntries(names.map((name, i) => [name, { ...bucket, rate: i + 1 }]));
    expect(Object.keys(definitions)).toEqual(names);
    const { rateLimit, getRateLimit } = define(definitions);
    for (const [i, name] of names.entries()) {
      const asked = { name, key: name };
      for (let call = 0; call <= i; call++) expect(await rateLimit(asked)).toMatchObject({ ok: true });
      expect(await rateLimit(asked)).toMatchObject({ ok: false });
      expect(await getRateLimit(asked)).toMatchObject({ name, value: 0, config: { rate: i + 1 } });
    }
  });

  it.each([
    [{ name: "open", count: 5 }, { remaining: 0 }],
    [{ name: "strict", count: 5, reserve: true }, { remaining: 0 }],
    [{ name: "patient", count: 8, reserve: true }, { retryAt: NOW + 600 }],
    [{ name: "spaced", count: 1, reserve: true }, { retryAt: NOW + 200 }],
  ])("the most that can be served, %o, is served", async (asked, answer) => {
    expect(await limits.rateLimit(asked)).toMatchObject({ ok: true, ...answer });
  });
});

describe.each(placeNames)("in the %s, a stored row that holds", (place) => {
  const { define, insert, rows, open } = useBackend(place);
  const limits = define({ bucket, window: fixed });
  const { rateLimit } = limits;
  const names = ["bucket", "window"];

  it.each([
    ...[NaN, Infinity, -Infinity, 1e300, Number.MAX_VALUE, -1e300].map((value) => ({ value, ts: NOW })),
    ...[NaN, Infinity, -Infinity, -1, NOW + 0.5, 8.64e15 + 1, 1e300].map((ts) => ({ value: 5, ts })),
  ])("the value $value at the time $ts is refused until it is reset", async (state) => {
    for (const name of names) {
      open();
      await insert(row({ name, ...state }));
      const before = await rows();
      const problem =
        `Rate limit "${name}": the stored state is unusable (value ${state.value}, ts ${state.ts}), so nothing is let ` +
        "through. resetRateLimit makes it full again.";
      for (const call of [
        rateLimit({ name }),
        rateLimit({ name, reserve: true, throws: true }),
        limits.checkRateLimit({ name }),
        limits.getRateLimit({ name }),
        limits.rateLimitAll([{ name: "other", config: bucket }, { name }]),
        limits.checkRateLimitAll([
          { name, key: "other" },
          { name, reserve: true },
        ]),
        limits.adjustRateLimit({ name, count: 1 }),
        limits.adjustRateLimit({ name, count: -1 }),
      ]) {
        await expect(call).rejects.toThrow(problem);
      }
      // A page names the damaged bucket, and goes on.
      const page = [{ value: 0, ok: false, error: problem }];
      expect(await limits.listRateLimits({ name })).toEqual({ page, cursor: null });
      expect(await rows()).toEqual(before);
      await limits.resetRateLimit({ name });
      expect(await rateLimit({ name })).toMatchObject({ ok: true, remaining: 4 });
    }
  });

  it("garbage names its key", async () => {
    await insert(row({ name: "bucket", key: "ann", value: NaN }));
    await expect(rateLimit({ name: "bucket", key: "ann" })).rejects.toThrow(
      'Rate limit "bucket": the bucket of key "ann" cannot be used: the stored state is unusable (value NaN,',
    );
  });

  const daily = { config: { kind: "token bucket", rate: 7, period: 86_400_000 } };
  const fast = { config: { kind: "token bucket", rate: 1000, period: 1, capacity: 1e9 } };
  it.each([
    ["two rows, from both of which was taken, is one", [{ value: 3 }, { value: 4 }], {}, { ok: true, remaining: 1 }],
    ["more than the capacity is full", [{ value: 1e12 }], {}, { ok: true, remaining: 4 }],
    [
      "a debt stays in debt, however much finer the limit counts",
      [{ value: -1e9 }],
      daily,
      { ok: false, remaining: 0 },
    ],
    ["too much for a lowered capacity is full", [{ value: 1e9 }], daily, { ok: true, remaining: 6 }],
    ["little for a raised capacity has that", [{ value: 5 }], fast, { ok: true, remaining: 4 }],
    ["a time to come gets nothing before", [{ value: 0, ts: 8.64e15 }], {}, { ok: false, retryAt: 8.64e15 }],
  ])("%s", async (_what, states, args, status) => {
    for (const name of "config" in args ? ["bucket"] : names) {
      await insert(...states.map((state) => row({ name, ...state })));
      expect(await rateLimit({ name, ...args })).toMatchObject(status);
      if (status.ok) expect(await rows()).toHaveLength(names.indexOf(name) + 1);
    }
  });
});

describe("the component does not trust the wire:", () => {
  const api = component.public;
  const good = { name: "wire", config: bucket };
  const { insert, rows, mutation, query } = useBackend("component");
  const functions = {
    consume: (args: object) => mutation((ctx) => ctx.runMutation(api.consume, args as never)),
    check: (args: object) => query((ctx) => ctx.runQuery(api.check, args as never)),
    get: (args: object) => query((ctx) => ctx.runQuery(api.get, args as never)),
    reset: (args: object) => mutation((ctx) => ctx.runMutation(api.reset, args as never)),
    adjust: (args: object) => mutation((ctx) => ctx.runMutation(api.adjust, { count: 1, ...args } as never)),
    consumeAll: (args: object) => mutation((ctx) => ctx.runMutation(api.consumeAll, { requests: [args] } as never)),
    checkAll: (args: object) => query((ctx) => ctx.runQuery(api.checkAll, { requests: [args] } as never)),
  };
  const calls = Object.keys(functions) as (keyof typeof functions)[];

  let before: object[];
  beforeEach(async () => {
    await insert(row({ name: "wire", value: 5 }));
    before = await rows();
  });
  afterEach(async () => {
    expect(await rows()).toEqual(before);
  });
  const refused = (call: keyof typeof functions, args: object, problem: string | RegExp) =>
    expect(functions[call](args), call).rejects.toThrow(problem);

  it("every bad config is refused, whichever function takes it", async () => {
    // What is no value at all on the wire cannot arrive.
    const sendable = badConfigs.filter(({ config }) => isValue(config));
    expect(sendable.length).toBeGreaterThan(60);
    const takers = calls.filter((call) => call !== "reset");
    for (const [i, { config }] of sendable.entries()) {
      // All by every function with EFFORT=1.
      for (const call of takers.filter((_, j) => effort >= 1 || j === i % takers.length))
        await refused(call, { ...good, config }, /^Rate limit "wire"|alidator/);
    }
  });

  const served = ["consume", "check"] as const;
  const counting = [...served, "consumeAll", "checkAll"] as const;
  const LIMIT = 'Rate limit "wire":';
  const VALIDATOR = "alidator";
  /** What the validators let through is refused with the field's name, the rest by them. */
  it.each<[what: string, calls: readonly (keyof typeof functions)[], wrong: object[], problem: string]>([
    ...Object.entries({ rate: NaN, period: 0, capacity: -1, maxReserved: Infinity, shards: 0.5 }).map(
      ([field, value]): [string, readonly "consume"[], object[], string] => {
        const config = { ...bucket, [field]: value };
        return [`a config's ${field}`, ["consume"], [{ config }], `${LIMIT} ${field} must be`];
      },
    ),
    ["a count", counting, counts(NaN, Infinity, -Infinity, -1), `${LIMIT} count must be`],
    [
      "an adjustment",
      ["adjust"],
      counts(NaN, Infinity, -Infinity, 1.1e12, -1.1e12),
      `${LIMIT} count must be ${ADJUSTMENT}`,
    ],
    ["more than there will be", served, counts(6, 1e300, Number.MAX_VALUE), "can never be served"],
    ["an empty name", calls, [{ name: "" }], NAME],
    ["an empty key", calls, [{ key: "" }], `${LIMIT} ${KEY} "".`],
    ["a bucket", calls, [{ name: 5 }, { name: null }, { key: 5 }, { key: null }, { shard: 1 }, { now: 0 }], VALIDATOR],
    ["no name", calls, [{ name: undefined }], VALIDATOR],
    ["a demand", served, [...counts("5", null, 5n), { reserve: "yes" }, { throws: true }], VALIDATOR],
  ])("%s that is wrong is refused", async (_what, calls, wrong, problem) => {
    for (const call of calls) {
      for (const fields of wrong) {
        const { config, ...args } = { ...good, ...fields };
        await refused(call, call === "reset" ? args : { ...args, config }, problem);
      }
    }
  });

  it("bad pages and bad sweeps are refused", async () => {
    const list = (args: object) => query((ctx) => ctx.runQuery(api.list, { ...good, ...args }));
    await expect(list({ limit: 0 })).rejects.toThrow(`${LIMIT} limit must be`);
    await expect(list({ config: { ...bucket, rate: 0 } })).rejects.toThrow(`${LIMIT} rate must be`);
    await expect(list({ cursor: '["other"]' })).rejects.toThrow(`${LIMIT} cursor must be`);
    await expect(list({ cursor: 5 })).rejects.toThrow(VALIDATOR);
    const sweep = (args: object) => mutation((ctx) => ctx.runMutation(component.sweep.sweep, args as never));
    const targets = [{ name: "wire", configs: [{ ...bucket, period: -1 }] }];
    await expect(sweep({ targets })).rejects.toThrow(`${LIMIT} period must be`);
    await expect(sweep({ targets: [], cursor: "?" })).rejects.toThrow("cursor must be");
    await expect(sweep({ targets: [{ name: "wire" }] })).rejects.toThrow(VALIDATOR);
    const twice = [[bucket], []].map((configs) => ({ name: "wire", configs }));
    expect(await sweep({ targets: twice })).toEqual({ deleted: 0, isDone: true });
  });
});

describe("projectRateLimit", () => {
  const snapshot = snapshotBy({ name: "send", value: 3, ts: NOW, config: bucket });

  it.each([
    [{ now: undefined }, "now must be milliseconds since the epoch, got undefined."],
    ...[...noNumbers.map(([now]) => now), 1e300].map((now) => [
      { now },
      "now must be milliseconds since the epoch, got",
    ]),
    ...counts(-1, NaN, Infinity, 6, "5", null).map((count) => [count, "count must be from 0 to 5"]),
  ] as [object, string][])("refuses %o: %s", (options, problem) => {
    expect(() => projectRateLimit(snapshot, { now: NOW, ...options })).toThrow(`Rate limit "send": ${problem}`);
  });

  it.each([undefined, null, 5, "send", {}])("refuses %s in place of a snapshot", (given) => {
    expect(() => projectRateLimit(given as never, { now: NOW })).toThrow("needs a snapshot");
  });
});

/** The types forbid what is tried here. */
function defineLoosely(place: PlaceName, limits: Record<string, unknown>): AnyRateLimits {
  return defineIn(place, limits as Parameters<typeof defineIn>[1]);
}

type Caller = keyof ReturnType<typeof callers> & string;

/** Every function, called with what a call says of its bucket. */
function callers(limits: Calls) {
  const job = makeFunctionReference<"mutation">("jobs:run");
  const other = { name: "open", key: "another" };
  type Call = (args: object) => Promise<unknown>;
  return {
    ...limits,
    adjustRateLimit: (args) => limits.adjustRateLimit({ count: 1, ...args }),
    rateLimitAll: (args) => limits.rateLimitAll([other, args]),
    rateLimitAllTwice: (args) => limits.rateLimitAll([args, args]),
    checkRateLimitAll: (args) => limits.checkRateLimitAll([args, other]),
    scheduleRateLimited: (args) => limits.scheduleRateLimited(args, job),
    cancelRateLimited: (args) => limits.cancelRateLimited({ count: 1, runAt: NOW, id: "none", ...args }),
  } satisfies Record<string, Call>;
}

function counts(...values: unknown[]): object[] {
  return values.map((count) => ({ count }));
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
