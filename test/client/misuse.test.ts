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

const must = (field: string, permitted: string, shown: string) => `${field} must be ${permitted}, got ${shown}.`;
const badNumbers = (base: object, field: string, permitted: string, more: [unknown, string][]): BadConfig[] =>
  [...noNumbers, ...more].map(([value, shown]) => ({
    config: { ...base, [field]: value },
    problem: must(field, permitted, shown),
  }));

/** What the wire's validators refuse or the types forbid is here too: JavaScript and the wire may bring anything. */
const badConfigs: BadConfig[] = [
  ...[
    { base: bucket, period: PERIOD },
    { base: fixed, period: WINDOW_PERIOD },
    { base: sliding, period: WHOLE_PERIOD },
  ].flatMap(({ base, period }) => [
    ...badNumbers(base, "rate", RATE, [
      [0, "0"],
      [-1, "-1"],
      [1.001e12, "1001000000000"],
      [undefined, "undefined"],
    ]),
    ...badNumbers(base, "period", period, [
      [0, "0"],
      [-1000, "-1000"],
      [1.001e15, "1001000000000000"],
      [undefined, "undefined"],
    ]),
    ...badNumbers(base, "maxReserved", QUANTITY, [
      [-0.5, "-0.5"],
      [1.001e12, "1001000000000"],
    ]),
    ...badNumbers(base, "shards", SHARDS, [
      [0, "0"],
      [-1, "-1"],
      [1.5, "1.5"],
      [1025, "1025"],
      ["many", '"many"'],
      [{ atLeast: 2, atMost: 1 }, '{"atLeast":2,"atMost":1}'],
      [{ atMost: 1025 }, '{"atMost":1025}'],
      [{ atLeast: 1, most: 2 }, '{"atLeast":1,"most":2}'],
    ]),
  ]),
  ...[bucket, fixed].flatMap((base) =>
    badNumbers(base, "capacity", QUANTITY, [
      [-1, "-1"],
      [-Number.MIN_VALUE, "-5e-324"],
      [1.001e12, "1001000000000"],
    ]),
  ),
  ...badNumbers(fixed, "start", START, [
    [0.5, "0.5"],
    [1e15 + 1, "1000000000000001"],
    [-1e15 - 1, "-1000000000000001"],
  ]),
  { config: { ...fixed, period: 1000.5 }, problem: must("period", WINDOW_PERIOD, "1000.5") },
  { config: { ...fixed, period: 0.5 }, problem: must("period", WINDOW_PERIOD, "0.5") },
  { config: { ...fixed, period: "year" }, problem: must("period", WINDOW_PERIOD, '"year"') },
  { config: { ...sliding, period: 0.5 }, problem: must("period", WHOLE_PERIOD, "0.5") },
  { config: { ...fixed, timeZone: "UTC" }, problem: "timeZone must be left out unless period is" },
  { config: { ...fixed, anchor: 1 }, problem: "anchor must be left out unless period is" },
  { config: { ...daily, start: 0 }, problem: 'start must be left out when period is "day"' },
  { config: { ...daily, timeZone: "Atlantis" }, problem: "timeZone must be the IANA name of a time zone" },
  { config: { ...daily, anchor: 1440 }, problem: "anchor must be a whole number from 0 to 1439" },
  { config: { ...daily, period: "week", anchor: 0 }, problem: "anchor must be a whole number from 1 to 7" },
  { config: { ...daily, period: "month", anchor: 32 }, problem: "anchor must be a whole number from 1 to 31" },
  {
    config: { ...fixed, rate: 1 / 3, capacity: 1e12 },
    problem: `rate ${1 / 3} has too many decimals to be counted with capacity 1000000000000`,
  },
  ...[undefined, null, 5, "leaky bucket", "toString", "__proto__", ["token bucket"], ["fixed window"]].map((kind) => ({
    config: { ...bucket, kind },
    problem: must("kind", KIND, kind === undefined ? "undefined" : JSON.stringify(kind)),
  })),
  { config: {}, problem: "kind must be" },
  { config: [], problem: "kind must be" },
  {
    config: { ...bucket, start: 0 },
    problem: '"start" is not a field of a token bucket, which has kind, rate, period,',
  },
  { config: { ...sliding, capacity: 5 }, problem: '"capacity" is not a field of a sliding window' },
  { config: { ...bucket, burst: 3 }, problem: '"burst" is not a field of a token bucket' },
  { config: { ...fixed, burst: undefined }, problem: '"burst" is not a field of a fixed window' },
  { config: { ...fixed, ["__proto__"]: 3 }, problem: '"__proto__" is not a field of a fixed window' },
];
/** As a definition a config may be left out of nothing; inline, `undefined` means that there is none. */
const noConfigs: [unknown, string][] = [
  [null, "null"],
  [5, "5"],
  ["token bucket", '"token bucket"'],
  [true, "true"],
];

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

  it.each([...noConfigs, [undefined, "undefined"] as const])("a definition that is %s", (config, shown) => {
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

  it("overrides beside a queue", () => {
    const problem = 'Rate limit "send": overrides and queue cannot be combined: a queue does not read overrides.';
    expect(() => defineLoosely("tables", { send: { ...bucket, overrides: true, queue: {} } })).toThrow(problem);
    expect(() => defineLoosely("tables", { send: { ...bucket, overrides: false, queue: {} } })).not.toThrow();
  });

  it("shadow beside a queue, and an exact queue without a bound", () => {
    const shadow = 'Rate limit "send": mode: "shadow" and queue cannot be combined: its jobs would still wait.';
    expect(() => defineLoosely("tables", { send: { ...bucket, mode: "shadow", queue: {} } })).toThrow(shadow);
    expect(() => defineLoosely("tables", { send: { ...bucket, mode: "enforce", queue: {} } })).not.toThrow();
    const exact = 'Rate limit "send": queue.exact needs queue.maxQueued.';
    expect(() => defineLoosely("tables", { send: { ...bucket, queue: { exact: true } } })).toThrow(exact);
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

const NAME = "A rate limit's name must be a well-formed string of 1 to 128 characters (UTF-16 units), got";
const badNames: BadCall[] = [
  { args: { name: "" }, problem: `${NAME} "".` },
  { args: { name: undefined }, problem: `${NAME} undefined.` },
  { args: { name: null }, problem: `${NAME} null.` },
  { args: { name: 5 }, problem: `${NAME} 5.` },
  { args: { name: ["open"] }, problem: `${NAME} ["open"].` },
  { args: { name: Symbol("open") }, problem: `${NAME} a symbol.` },
  { args: { name: Object.create(null) as unknown }, problem: `${NAME} {}.` },
  { args: { name: hostile }, problem: `${NAME} an object.` },
  { args: { name: "n".repeat(129) }, problem: `${NAME} 129 characters: "nnnn` },
  { args: { name: "half \ud800" }, problem: `${NAME} "half \\ud800".` },
  { args: { name: "\udc00 half" }, problem: `${NAME} "\\udc00 half".` },
  { args: {}, problem: `${NAME} undefined.` },
];
const unknownNames: BadCall[] = ["opne", "constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"].map(
  (name) => ({
    args: { name },
    problem: `Rate limit "${name}": is not one of your limits ("open", "mine", "shared", "strict", "patient", "spaced"); give`,
  }),
);
const KEY = "key must be a non-empty string, got";
const badKeys: BadCall[] = [
  ...["open", "mine"].flatMap((name) => [
    { args: { name, key: "" }, problem: `Rate limit "${name}": ${KEY} "".` },
    { args: { name, key: null }, problem: `Rate limit "${name}": ${KEY} null.` },
    { args: { name, key: 7 }, problem: `Rate limit "${name}": ${KEY} 7.` },
    { args: { name, key: NaN }, problem: `Rate limit "${name}": ${KEY} NaN.` },
    { args: { name, key: ["a"] }, problem: `Rate limit "${name}": ${KEY} ["a"].` },
    { args: { name, key: { id: 7 } }, problem: `Rate limit "${name}": ${KEY} {"id":7}.` },
    {
      args: { name, key: "k".repeat(257) },
      problem: `Rate limit "${name}": key must be at most 256 characters (UTF-16 units) long; await hashKey(key) makes one of 64, got`,
    },
    {
      args: { name, key: "k".repeat(1e6) },
      problem: `Rate limit "${name}": key must be at most 256 characters (UTF-16 units) long; await hashKey(key)`,
    },
    ...["\ud83d", "a\udc00b", "\udc00\ud800"].map((key) => ({
      args: { name, key },
      problem: `Rate limit "${name}": key must be well-formed, without an unpaired surrogate, got`,
    })),
  ]),
  { args: { name: "mine" }, problem: `Rate limit "mine": ${KEY} undefined (the limit is keyed: true).` },
  {
    args: { name: "mine", key: undefined },
    problem: `Rate limit "mine": ${KEY} undefined (the limit is keyed: true).`,
  },
  {
    args: { name: "mine", config: bucket },
    problem: `Rate limit "mine": ${KEY} undefined (the limit is keyed: true).`,
  },
  ...["a", "", null].map((key) => ({
    args: { name: "shared", key },
    problem: `Rate limit "shared": key must be left out, got ${JSON.stringify(key)} (the limit is keyed: false, one bucket for all).`,
  })),
  {
    args: { name: "shared", key: "a", config: bucket },
    problem: `Rate limit "shared": key must be left out, got "a" (the limit is keyed: false`,
  },
];
const COUNT = "a finite number of at least 0";
const RESERVE = "true, false or { within: a number of milliseconds of at least 0 }";
const badDemands: BadCall[] = [
  ...[...noNumbers, [-1, "-1"] as const, [-Number.MIN_VALUE, "-5e-324"] as const].map(([count, shown]) => ({
    args: { name: "open", count },
    problem: `Rate limit "open": ${must("count", COUNT, shown)}`,
  })),
  ...[null, 1, "yes", {}, { within: -1 }, { within: "1" }, { within: 5, count: 2 }].map((reserve) => ({
    args: { name: "open", reserve },
    problem: `Rate limit "open": ${must("reserve", RESERVE, JSON.stringify(reserve))}`,
  })),
  {
    args: { name: "open", reserve: { within: NaN } },
    problem: `Rate limit "open": reserve must be ${RESERVE}, got`,
  },
  ...[null, 1, "yes", {}, { jitter: 2 }, { jitter: -0.1 }, { jitter: NaN }, { jitter: 1, spread: 1 }].map((throws) => ({
    args: { name: "open", throws },
    problem: `Rate limit "open": ${must("throws", "true, false or { jitter: a number from 0 to 1 }", JSON.stringify(throws))}`,
  })),
];
const LEAST = "a number of at least 0 and at most count";
const badParts: BadCall[] = [
  ...[...noNumbers, [-1, "-1"] as const, [3.001, "3.001"] as const].map(([atLeast, shown]) => ({
    args: { name: "open", count: 3, atLeast },
    problem: `Rate limit "open": ${must("atLeast", `${LEAST} (3)`, shown)}`,
  })),
  { args: { name: "open", atLeast: 2 }, problem: `Rate limit "open": ${must("atLeast", `${LEAST} (1)`, "2")}` },
  ...[true, { within: 5 }].map((reserve) => ({
    args: { name: "strict", count: 3, atLeast: 1, reserve },
    problem: 'Rate limit "strict": atLeast and reserve cannot be combined: atLeast takes only what is there now.',
  })),
  ...[5.001, 1e300].map((atLeast) => ({
    args: { name: "open", count: Number.MAX_VALUE, atLeast },
    problem: `Rate limit "open": atLeast ${atLeast} can never be served: it can hold at most 5 (capacity`,
  })),
];
const badModes: BadCall[] = [null, true, "Shadow", "enforced", {}].map((mode) => ({
  args: { name: "open", mode },
  problem: `Rate limit "open": ${must("mode", '"enforce" or "shadow"', JSON.stringify(mode))}`,
}));
const never = (name: string, count: number, most: string): string =>
  `Rate limit "${name}": count ${count} can never be served: ${most} (capacity and maxReserved say how much).`;
const neverServed: BadCall[] = [
  ...[6, 5.0001, 1e12, 1e16, 1e300, Number.MAX_VALUE].flatMap((count) => [
    { args: { name: "open", count }, problem: never("open", count, "it can hold at most 5") },
    { args: { name: "strict", count, reserve: false }, problem: never("strict", count, "it can hold at most 5") },
    {
      args: { name: "strict", count, reserve: true },
      problem: never("strict", count, "with a reservation it can hold at most 5"),
    },
  ]),
  ...[8.5, 1e300, Number.MAX_VALUE].map((count) => ({
    args: { name: "patient", count, reserve: true },
    problem: never("patient", count, "with a reservation it can hold at most 8"),
  })),
  ...[1e300, Number.MAX_VALUE].map((count) => ({
    args: { name: "open", count, reserve: true },
    problem: `Rate limit "open": count ${count} can never be served: with a reservation it can hold at most `,
  })),
  { args: { name: "spaced", count: 1 }, problem: never("spaced", 1, "it can hold at most 0") },
];

const ADJUSTMENT = "a number from -1e12 to 1e12";
const badAdjustments: BadCall[] = [
  ...[
    ...noNumbers,
    [undefined, "undefined"] as const,
    [1.001e12, "1001000000000"] as const,
    [-1.001e12, "-1001000000000"] as const,
  ].map(([count, shown]) => ({
    args: { name: "open", count },
    problem: `Rate limit "open": ${must("count", ADJUSTMENT, shown)}`,
  })),
];
const JOB = "cancelRateLimited needs the job that scheduleRateLimited returned, got";
/** A client that could make up a job could make up tokens: no count of it opens the gate. */
const badHandles: BadCall[] = [
  // Infinity is refused as what comes back: it is a number of at least 0.
  ...[...noNumbers.filter(([count]) => count !== Infinity), [undefined, ""] as const, [-1, ""] as const].map(
    ([count]) => ({ args: { name: "open", count }, problem: JOB }),
  ),
  { args: { name: "open", count: Infinity }, problem: 'Rate limit "open": count must be a number from -1e12 to 1e12' },
  { args: { name: "open", runAt: "soon" }, problem: JOB },
  { args: { name: "open", runAt: undefined }, problem: JOB },
  { args: { name: "open", id: 5 }, problem: JOB },
  ...[NaN, Infinity, "soon", null].flatMap((time) => [
    { args: { name: "open", runAt: time }, problem: JOB },
    { args: { name: "open", dueAt: time }, problem: JOB },
  ]),
  // Not taken for a job without a config: that would be given back by another one.
  ...[null, 0, "", false].map((config) => ({ args: { name: "open", config }, problem: JOB })),
];
const badSpreads: BadCall[] = [...noNumbers, [-1, "-1"] as const, [86_400_001, "86400001"] as const].map(
  ([spread, shown]) => ({
    args: { name: "open", spread },
    problem: `Rate limit "open": ${must("spread", "a number of milliseconds at least 0 and at most 86400000", shown)}`,
  }),
);
const badLists: BadCall[] = [
  ...["opne", "constructor", "__proto__"].map((name) => ({
    args: { name },
    problem: `Rate limit "${name}": is not defined, so its keys cannot be listed.`,
  })),
  ...[...noNumbers, [0, "0"] as const, [1001, "1001"] as const, [1.5, "1.5"] as const].map(([limit, shown]) => ({
    args: { name: "open", limit },
    problem: `Rate limit "open": ${must("limit", "a whole number at least 1 and at most 1000", shown)}`,
  })),
  ...[null, 1, "yes"].map((onlyLimited) => ({
    args: { name: "open", onlyLimited },
    problem: `Rate limit "open": ${must("onlyLimited", "true or false", JSON.stringify(onlyLimited))}`,
  })),
  ...[null, 5, "", "open", '["mine","a"]', '["open","a","b"]', { name: "open" }].map((cursor) => ({
    args: { name: "open", cursor },
    problem: `Rate limit "open": ${must("cursor", "one that the page before returned", JSON.stringify(cursor))}`,
  })),
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

  it.each(unknownNames)("an unknown name: $args.name", async ({ args, problem }) => {
    await refuses(all, args, problem);
  });

  it.each(badKeys)("a bad key: $problem", async ({ args, problem }) => {
    await refuses(all, args, problem);
  });

  it.each(badDemands)("a bad demand: $problem", async ({ args, problem }) => {
    // Several requests are thrown together, and a job always reserves.
    await refuses("throws" in args ? asking : [...asking, ...several], args, problem);
    if ("count" in args) await refuses(["scheduleRateLimited"], args, problem);
  });

  it.each(badParts)("a bad part: $problem", async ({ args, problem }) => {
    await refuses(asking, args, problem);
  });

  it.each(badModes)("a bad mode: $problem", async ({ args, problem }) => {
    await refuses([...asking, ...several, "scheduleRateLimited"], args, problem);
  });

  it.each([
    ["rateLimit", ["name", "key", "config", "plan", "count", "reserve", "mode", "refundable", "atLeast", "throws"]],
    [
      "checkRateLimit",
      ["name", "key", "config", "plan", "count", "reserve", "mode", "refundable", "atLeast", "throws"],
    ],
    ["rateLimitAll", ["name", "key", "config", "plan", "count", "reserve", "mode", "refundable"]],
    ["checkRateLimitAll", ["name", "key", "config", "plan", "count", "reserve", "mode", "refundable"]],
    ["adjustRateLimit", ["name", "key", "config", "plan", "count", "takenAt"]],
    ["getRateLimit", ["name", "key", "config", "plan"]],
    ["resetRateLimit", ["name", "key", "config", "plan"]],
    ["scheduleRateLimited", ["name", "key", "config", "plan", "count", "spread", "mode", "throws"]],
    ["listRateLimits", ["cursor", "limit", "onlyLimited", "onlyOverridden"]],
  ] as const)("a field that %s does not have", async (call, known) => {
    const asked = ["name", "key", "config", "count", "reserve", "mode", "atLeast", "throws"];
    const all = [...asked, "spread", "cursor", "limit", "onlyLimited"];
    const others = all.filter((field) => field !== "name" && !known.some((name) => name === field));
    for (const field of ["throw", "cuont", "component", "__proto__", ...others]) {
      for (const value of [true, undefined]) {
        const args: object = { name: "open", [field]: value };
        await refuses(
          [call],
          args,
          `Rate limit "open": "${field}" is not a field of ${call}, which has ${known.join(", ")}.`,
        );
      }
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

  it.each(badAdjustments)("a bad adjustment: $problem", async ({ args, problem }) => {
    await refuses(["adjustRateLimit"], args, problem);
  });

  it.each(badHandles)("a bad handle of a job: $problem", async ({ args, problem }) => {
    await refuses(["cancelRateLimited"], args, problem);
  });

  it.each(badSpreads)("a bad spread: $problem", async ({ args, problem }) => {
    await refuses(["scheduleRateLimited"], args, problem);
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

  it.each([...badNames, ...badLists])("a bad list: $problem", async ({ args, problem }) => {
    await refuses(["listRateLimits"], args, problem);
  });

  it.each([undefined, null, {}, "open", 5, []])("several requests that are %j", async (list) => {
    const t = openBackend();
    for (const name of ["rateLimitAll", "checkRateLimitAll"] as const) {
      const call = t.mutation(async (ctx) => await untyped(limits[name])(ctx, list as object));
      await expect(call).rejects.toThrow(
        `${name} needs an array of one or more requests, got ${list === undefined ? "undefined" : JSON.stringify(list)}.`,
      );
    }
  });

  it("several requests that ask one bucket in two ways", async () => {
    const reserving = { name: "open", reserve: true };
    for (const [list, problem] of [
      [[{ name: "open" }, reserving], "one bucket cannot be asked both to consume and to reserve in the same call."],
      [
        [reserving, { name: "open", reserve: { within: 5 } }],
        "one bucket cannot be asked both to consume and to reserve in the same call.",
      ],
      [
        [{ name: "open" }, { name: "open", config: { ...bucket, rate: 6 } }],
        "one bucket must have the same config in all the requests of a call.",
      ],
      [
        [{ name: "open" }, { name: "open", mode: "shadow" }],
        "one bucket cannot be both enforced and in shadow in the same call.",
      ],
    ] as const) {
      const t = openBackend();
      for (const name of ["rateLimitAll", "checkRateLimitAll"] as const) {
        const call = t.mutation(async (ctx) => await untyped(limits[name])(ctx, list));
        await expect(call).rejects.toThrow(`Rate limit "open": ${problem}`);
      }
      expect(await rowsIn(place, t)).toEqual([]);
    }
  });

  it.each([null, 1, "yes", {}])("several requests with throws: %j", async (throws) => {
    const t = openBackend();
    for (const name of ["rateLimitAll", "checkRateLimitAll"] as const) {
      const call = t.mutation(async (ctx) => await untyped(limits[name])(ctx, [{ name: "open" }], { throws }));
      await expect(call).rejects.toThrow(
        `Rate limit "${name}": throws must be true, false or { jitter: a number from 0 to 1 }, got ${JSON.stringify(throws)}.`,
      );
    }
    expect(await rowsIn(place, t)).toEqual([]);
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
  const garbage: [string, { value: number; ts: number }][] = [
    ["a value that is no number", { value: NaN, ts: NOW }],
    ["an infinite value", { value: Infinity, ts: NOW }],
    ["a value of minus infinity", { value: -Infinity, ts: NOW }],
    ["a value beyond all limits", { value: 1e300, ts: NOW }],
    ["a value whose units overflow", { value: Number.MAX_VALUE, ts: NOW }],
    ["a debt beyond all limits", { value: -1e300, ts: NOW }],
    ["a time that is no number", { value: 5, ts: NaN }],
    ["an infinite time", { value: 5, ts: Infinity }],
    ["a time of minus infinity", { value: 5, ts: -Infinity }],
    ["a negative time", { value: 5, ts: -1 }],
    ["a fraction of a millisecond", { value: 5, ts: NOW + 0.5 }],
    ["a time after the last date", { value: 5, ts: 8.64e15 + 1 }],
    ["a time beyond all times", { value: 5, ts: 1e300 }],
  ];

  it.each(garbage)("%s is refused until it is reset", async (_what, state) => {
    for (const name of ["bucket", "window"]) {
      const t = openBackend();
      await insertRow(place, t, row({ name, ...state }));
      const before = await rowsIn(place, t);
      const problem =
        `Rate limit "${name}": the stored state is unusable (value ${state.value}, ts ${state.ts}), so nothing is let ` +
        "through. resetRateLimit makes it full again.";
      const calls: ((ctx: MutationCtx) => Promise<unknown>)[] = [
        (ctx) => limits.rateLimit(ctx, { name }),
        (ctx) => limits.checkRateLimit(ctx, { name }),
        (ctx) => limits.getRateLimit(ctx, { name }),
        (ctx) => limits.rateLimitAll(ctx, [{ name: "other", config: five }, { name }]),
        (ctx) =>
          limits.checkRateLimitAll(ctx, [
            { name, key: "other" },
            { name, reserve: true },
          ]),
        (ctx) => limits.adjustRateLimit(ctx, { name, count: 1 }),
        (ctx) => limits.adjustRateLimit(ctx, { name, count: -1 }),
      ];
      for (const call of calls) await expect(t.mutation(call)).rejects.toThrow(problem);
      // A page names the damaged bucket, and goes on.
      expect(await t.query(async (ctx) => await limits.listRateLimits(ctx, { name }))).toEqual({
        page: [{ value: 0, ok: false, error: problem }],
        cursor: null,
      });
      const reserving = t.mutation(async (ctx) => await limits.rateLimit(ctx, { name, reserve: true, throws: true }));
      await expect(reserving).rejects.toThrow(problem);
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
    for (const [field, value] of Object.entries({
      rate: NaN,
      period: 0,
      capacity: -1,
      maxReserved: Infinity,
      shards: 0.5,
    })) {
      const problem = `Rate limit "wire": ${field} must be`;
      await refused("consume", { ...good, config: { ...bucket, [field]: value } }, problem);
    }
    for (const count of [NaN, Infinity, -Infinity, -1]) {
      for (const call of ["consume", "check", "consumeAll", "checkAll"] as const)
        await refused(call, { ...good, count }, 'Rate limit "wire": count must be');
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

  it("numbers that no adjustment may have are refused with the field's name", async () => {
    for (const count of [NaN, Infinity, -Infinity, 1.1e12, -1.1e12]) {
      await refused("adjust", { ...good, count }, 'Rate limit "wire": count must be a number from -1e12 to 1e12');
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

  it.each([...noNumbers, [1e300, "1e+300"] as const])("%s as the present", (now) => {
    expect(() => project({}, { now })).toThrow('Rate limit "send": now must be milliseconds since the epoch, got');
  });

  it.each([-1, NaN, Infinity, 6, "5", null])("a count of %s", (count) => {
    expect(() => project({}, { count })).toThrow('Rate limit "send": count must be from 0 to 5');
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
