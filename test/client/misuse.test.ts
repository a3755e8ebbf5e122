/**
 * Bad input: every field of every function, in both places and over the component's wire. The error names the limit, the field, the value
 * and what is permitted. Nothing is read or written, and no request is allowed. test/engine tests which values each field permits.
 */
import { anyApi, makeFunctionReference } from "convex/server";
import { projectRateLimit, usageOf } from "convex-rate-limits/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { type Calls, useBackend } from "../support/limits.js";
import { show } from "../../src/engine/misuse.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { snapshotBy } from "../support/snapshots.js";
import { type MutationCtx, type PlaceName, component, defineIn, placeNames } from "../support/places.js";

useClock();

const bucket = { kind: "token bucket", rate: 5, period: 1000 } as const;
const fixed = { kind: "fixed window", rate: 5, period: 1000 } as const;
const sliding = { kind: "sliding window", rate: 5, period: 1000 } as const;

const circle: Record<string, unknown> = {};
circle["self"] = circle;
/** Values that are not numbers. */
const noNumbers = [NaN, Infinity, "5", 5n, null, circle, () => 5, Symbol("5")];
const noFlags = [null, 1, "yes", {}];
const noChoices = [...noFlags, { jitter: 1.1 }, { jitter: NaN }, { jitter: 1, spread: 1 }];
const THROWS = "true, false or { jitter: a number from 0 to 1 }";
const NAME = "A rate limit's name must be a well-formed string of 1 to 128 characters (UTF-16 units), got";

const must = (field: string, permitted: string, value: unknown) => `${field} must be ${permitted}, got ${show(value)}.`;

/** Bad configs of each kind. */
const badConfigs = [
  ...[bucket, fixed, sliding].map((base) => {
    return { config: { ...base, rate: "5" }, problem: must("rate", "a number at least 1e-12 and at most 1e12", "5") };
  }),
  { config: { ...sliding, capacity: 5 }, problem: '"capacity" is not a field of a sliding window' },
  { config: { ...fixed, ["__proto__"]: 3 }, problem: '"__proto__" is not a field of a fixed window' },
  { config: { ...fixed, rate: 1 / 3, capacity: 1e12 }, problem: `rate ${1 / 3} has too many decimals to be counted` },
];
/** Values that are no config. `undefined` is also none in a definition. Inline, `undefined` is fine: it means that no config is given. */
const noConfigs = [null, 5, "token bucket", true, []];

type BadDefinition = [fields: object, problem: string];
const badDefinitions: BadDefinition[] = [
  ...noChoices.flatMap((value): BadDefinition[] => [
    [{ throws: value }, must("throws", THROWS, value)],
    [{ mode: value }, must("mode", '"enforce" or "shadow"', value)],
    [{ keyed: value }, must("keyed", "true or false", value)],
  ]),
  [{ overrides: true }, '"overrides" is not a field of a token bucket'],
  [{ mode: "shadow", queue: {} }, 'mode: "shadow" and queue cannot be combined: its jobs would still wait.'],
  [{ queue: [] }, must("queue", "an object", [])],
  ...(
    [
      ["maxQueued", 1, 10_000, ""],
      ["priorities", 1, 10, ""],
      ["aging", 0, 31_536_000_000, " of milliseconds"],
      ["attempts", 1, 100, ""],
    ] as const
  ).flatMap(([field, least, most, unit]) =>
    [least - 1, 1.5, most + 1].map((value): BadDefinition => {
      const permitted = `a whole number${unit} at least ${least} and at most ${most}`;
      return [{ queue: { [field]: value } }, must(field, permitted, value)];
    }),
  ),
  [{ queue: { fair: 1 } }, must("fair", "true or false", 1)],
];

const one = { requests: 1 };
const requests = { ...bucket, rate: 5 };
const slots = { kind: "concurrency", slots: 1, lease: 1000 };
const needs = (what: string, value: unknown) => must("queue.with.requests", `a limit ${what}`, value);
const isCount = (value: unknown) => must("queue.with.requests", "a number above 0 and at most 5", value);
/** Bad limits in `with`: the queue's, its other fields, and the limit that its jobs also take from. */
const badWith: [queue: unknown, own: object, other: object | undefined, problem: string][] = [
  [5, {}, requests, must("with", "an object of counts by the names of limits", 5)],
  [[1], {}, requests, must("with", "an object of counts by the names of limits", [1])],
  ...[0, -1, NaN, Infinity, "1", null, undefined, 5.001, 6].map((count): (typeof badWith)[number] => [
    { requests: count },
    {},
    requests,
    isCount(count),
  ]),
  [
    one,
    {},
    { ...requests, rate: 9, capacity: 0.5 },
    must("queue.with.requests", "a number above 0 and at most 0.5", 1),
  ],
  [one, {}, { ...sliding, rate: 0.5 }, must("queue.with.requests", "a number above 0 and at most 0.5", 1)],
  [one, {}, undefined, needs("that you define, other than the queue's own", "requests")],
  [{ send: 1 }, {}, requests, must("queue.with.send", "a limit that you define, other than the queue's own", "send")],
  [one, {}, { ...requests, queue: {} }, needs("without a queue", { queue: {} })],
  [one, {}, slots, needs('of another kind than "concurrency"', slots)],
  [one, {}, { ...requests, mode: "shadow" }, needs("that is enforced", { mode: "shadow" })],
  ...[{}, { keyed: false }].map((own): (typeof badWith)[number] => [
    one,
    own,
    { ...requests, keyed: true },
    needs("without keyed: true, since the queue's own is not keyed: true", { keyed: true }),
  ]),
  ...[{}, { plans: { free: {}, pro: {} } }].map((own): (typeof badWith)[number] => [
    one,
    own,
    { ...requests, plans: { free: { rate: 5 } } },
    needs("without plans, or with all plans of the queue's own", { plans: ["free"] }),
  ]),
  [
    one,
    { plans: { free: {} } },
    { ...requests, plans: { pro: { rate: 5 }, free: { rate: 0.5 } } },
    "queue.with.requests must be a number",
  ],
];

describe("a bad definition fails at module load", () => {
  const defining = (definition: unknown, place: PlaceName = "tables") =>
    expect(() => defineLoosely(place, { send: definition }));

  it.each(badConfigs)("$problem", ({ config, problem }) => {
    for (const place of placeNames) {
      // The component checks at the first call whether a rate can be counted.
      if (place === "component" && problem.includes("to be counted")) continue;
      defining(config, place).toThrow(`Rate limit "send": ${problem}`);
    }
  });

  it.each([...noConfigs, undefined])("a definition that is %s", (config) => {
    defining(config).toThrow(`Rate limit "send": ${must("the definition", "an object", config)}`);
  });

  it.each(badDefinitions)("%j: %s", (fields, problem) => {
    defining({ ...bucket, ...fields }).toThrow(`Rate limit "send": ${problem}`);
  });

  it.each(badWith)("queue: { with: %j }, %j, %j: %s", (counts, own, other, problem) => {
    for (const place of placeNames) {
      const limits = { send: { ...bucket, ...own, queue: { with: counts } }, ...(other && { requests: other }) };
      expect(() => defineLoosely(place, limits)).toThrow(`Rate limit "send": ${problem}`);
    }
  });

  it("a queue with the mode that is the default is not a bad definition", () => {
    defining({ ...bucket, mode: "enforce", queue: {} }).not.toThrow();
  });

  it("the error names a limit without a name, and one bad limit among good ones", () => {
    expect(() => defineLoosely("tables", { "": bucket })).toThrow(`${NAME} "".`);
    expect(() => defineLoosely("tables", { good: bucket, "half \ud800": bucket })).toThrow(NAME);
    const definitions = { good: bucket, better: fixed, bad: { ...bucket, rate: 0 } };
    expect(() => defineLoosely("component", definitions)).toThrow('Rate limit "bad": rate');
  });
});

const asking = ["rateLimit", "checkRateLimit"] as const;
const several = ["rateLimitAll", "checkRateLimitAll"] as const;
const demanding = [...asking, ...several, "scheduleRateLimited"] as const;
const cancelling = ["cancelRateLimited"] as const;
const onBuckets = [...demanding, "adjustRateLimit", "getRateLimit", "resetRateLimit"] as const;
const all = [...onBuckets, ...cancelling] as const;

/** A bad call: the functions that are called, the arguments that name and describe the bucket, and the error. The limit itself is fine. */
interface BadCall {
  functions: readonly Caller[];
  args: Record<string, unknown>;
  problem: string;
}
const bad = (functions: readonly Caller[], args: { name?: string; [field: string]: unknown }, problem: string) => {
  const { name = "open" } = args;
  return { functions, args: { ...args, name }, problem: `Rate limit "${name}": ${problem}` } satisfies BadCall;
};
/** Calls with bad values of one field. */
const badField = (
  functions: readonly Caller[],
  field: string,
  permitted: string,
  values: readonly unknown[],
  more: object = {},
): BadCall[] => values.map((value) => bad(functions, { ...more, [field]: value }, must(field, permitted, value)));

const JOB = "cancelRateLimited needs the job that scheduleRateLimited returned, got";
const noNames = ["", undefined, null, ["open"], Symbol("open"), Object.create(null), "n".repeat(129), "half \ud800"];
const badNames = noNames.flatMap((name): BadCall[] => [
  { functions: [...onBuckets, "listRateLimits"], args: { name }, problem: NAME },
  // For a job that is cancelled, the error is about the job.
  { functions: cancelling, args: { name }, problem: typeof name === "string" ? NAME : JOB },
]);
const unknownNames = ["opne", "constructor", "__proto__"].flatMap((name) => {
  const problem = `Rate limit "${name}" is not one of your limits ("open", "mine", "shared", "patient", "spaced"); `;
  return [
    { functions: onBuckets, args: { name }, problem: `${problem}give its config` },
    { functions: ["listRateLimits"] as const, args: { name }, problem: `${problem}define it to list its keys.` },
  ];
});
const NO_KEY = "key must be a non-empty string (keyed: true), got undefined.";
const badKeys = [
  ...["open", "mine"].flatMap((name) => [
    ...badField(all, "key", "a non-empty string", ["", null, 7, ["a"]], { name }),
    bad(all, { name, key: "k".repeat(257) }, "key must be at most 256 characters (UTF-16 units) long; await hashKey("),
    bad(all, { name, key: "\udc00\ud800" }, "key must be well-formed, without an unpaired surrogate, got"),
  ]),
  ...[{}, { key: undefined }, { config: bucket }].map((args) => bad(onBuckets, { name: "mine", ...args }, NO_KEY)),
  ...[{ key: "a" }, { key: "" }, { key: null }, { key: "a", config: bucket }].map((args) => {
    const problem = `key must be left out (keyed: false, one bucket for all), got ${JSON.stringify(args.key)}.`;
    return bad(onBuckets, { name: "shared", ...args }, problem);
  }),
];

const RESERVE = "true, false or { within: a number of milliseconds of at least 0 }";
const badDemands = [
  ...badField(demanding, "count", "a finite number of at least 0", [...noNumbers, -1, -Number.MIN_VALUE]),
  ...badField(demanding, "mode", '"enforce" or "shadow"', [...noFlags, "Shadow"]),
  ...badField([...asking, ...several], "reserve", RESERVE, [...noFlags, { within: -1 }, { within: 5, count: 2 }]),
  // Calls of several requests take `throws` as an option of the call, not as a field of a request.
  ...badField([...asking, "scheduleRateLimited"], "throws", THROWS, noChoices),
];
const SPREAD = "a number of milliseconds at least 0 and at most 86400000";
const TIME = "a whole number of milliseconds since the epoch at least 0 and at most 8640000000000000";
const ADJUSTMENT = "a number at least -1e12 and at most 1e12";
/** Jobs with a bad field. A client that could invent a job could invent tokens, so none of them is accepted. */
const badHandles = [
  ...[...noNumbers, undefined, -1].map((count) => ({ count })),
  ...[NaN, Infinity, "soon", null, -1, 1.5, 1e17].flatMap((time) => [
    { runAt: time },
    { dueAt: time },
    { takenAt: time },
  ]),
  { runAt: undefined },
  { dueAt: NaN, takenAt: 0 },
  { id: 5 },
  // These are not read as a job without a config: the tokens would come back under another config.
  ...[null, 0, "", false].map((config) => ({ config })),
].map((args): BadCall => ({ functions: cancelling, args: { name: "open", ...args }, problem: JOB }));
const noCursors = [null, 5, "", "open", '["mine","a"]', '["open","a","b"]', { name: "open" }];
const badOthers = [
  ...badField(["adjustRateLimit"], "count", ADJUSTMENT, [...noNumbers, undefined, 1.001e12, -1.001e12]),
  ...badField(["adjustRateLimit"], "takenAt", TIME, [...noNumbers, -1, 1.5], { count: -1 }),
  bad(["pauseRateLimit"], {}, "until must be a number of milliseconds since the epoch at least 0"),
  bad(cancelling, { name: "inline", config: { ...bucket, rate: -1 } }, "rate must be a number at least 1e-12"),
  ...badField(["scheduleRateLimited"], "spread", SPREAD, [...noNumbers, -1, 86_400_001]),
  ...badField(["listRateLimits"], "limit", "a whole number at least 1 and at most 1000", [...noNumbers, 0, 1001, 1.5]),
  ...badField(["listRateLimits"], "onlyLimited", "true or false", [null, 1, "yes"]),
  ...badField(["listRateLimits"], "cursor", "one that the page before returned", noCursors),
];
const badCalls = [badNames, unknownNames, badKeys, badDemands, badHandles, badOthers].flat();

describe.each(placeNames)("in the %s, a call with", (place) => {
  const { define, open, insert, rows, mutation } = useBackend(place);
  const limits = define({
    open: bucket,
    mine: { ...bucket, keyed: true },
    shared: { ...fixed, keyed: false },
    patient: { ...bucket, maxReserved: 3 },
    spaced: { ...bucket, capacity: 0 },
  });

  /** Expects that each of the functions refuses the arguments with the same error, and changes no row. */
  async function refuses({ functions, args, problem }: BadCall) {
    open();
    await insert(...["open", "shared", "patient"].map((name) => row({ name })), row({ name: "mine", key: "a" }));
    const before = await rows();
    for (const name of functions) await expect(callers(limits)[name](args), name).rejects.toThrow(problem);
    expect(await rows()).toEqual(before);
  }

  it.each(badCalls)("bad arguments: $problem ($functions)", refuses);

  const BUCKET = ["name", "key", "config", "plan"] as const;
  const DEMAND = [...BUCKET, "count", "reserve", "refundable", "mode"] as const;
  it.each([
    ["rateLimit", [...DEMAND, "throws"]],
    ["checkRateLimit", [...DEMAND, "throws"]],
    ["rateLimitAll", DEMAND],
    ["checkRateLimitAll", DEMAND],
    ["adjustRateLimit", [...BUCKET, "count", "takenAt"]],
    ["getRateLimit", BUCKET],
    ["resetRateLimit", BUCKET],
    ["scheduleRateLimited", [...BUCKET, "count", "spread", "mode", "throws"]],
    ["listRateLimits", ["cursor", "limit", "onlyLimited", "onlyOverridden"]],
  ] as const)("a field that %s does not have", async (call, known) => {
    const asked = ["name", "key", "config", "count", "reserve", "mode", "throws"];
    const all = [...asked, "spread", "cursor", "limit", "onlyLimited"];
    const others = all.filter((field) => field !== "name" && !known.some((name) => name === field));
    for (const field of ["throw", "cuont", "component", "__proto__", ...others]) {
      const problem = `Rate limit "open": "${field}" is not a field of ${call}, which has ${known.join(", ")}.`;
      for (const value of [true, undefined]) {
        await refuses({ functions: [call], args: { name: "open", [field]: value }, problem });
      }
    }
  });

  const job = makeFunctionReference<"mutation">("jobs:run");
  const REFERENCE = "the function must be a reference, such as internal.jobs.run, got";
  const ARGUMENTS = "the function's arguments";
  const noFunctions = [undefined, null, 5, "", () => null, {}, [], new Date(0), anyApi["jobs"]];
  it.each([
    ...noFunctions.map((fn) => ({ fn, args: {}, problem: REFERENCE })),
    { fn: job, args: { at: new Date(NOW) }, problem: `${ARGUMENTS} cannot be stored: ` },
    { fn: job, args: { each: [undefined] }, problem: `${ARGUMENTS} cannot be stored: ` },
    ...[5, null, [], new ArrayBuffer(1)].map((args) => {
      return { fn: job, args, problem: `${ARGUMENTS} must be an object, got ${JSON.stringify(args)}.` };
    }),
  ])("a job that no scheduler can run, #%#: $problem", async ({ fn, args, problem }) => {
    // The caller catches the error and goes on, so no tokens may be taken for a job that does not exist.
    const call = (ctx: MutationCtx) => limits.within(ctx).scheduleRateLimited({ name: "open" }, fn, args);
    expect(await mutation((ctx) => call(ctx).then(() => "nothing", String))).toContain(`Rate limit "open": ${problem}`);
    expect(await rows()).toEqual([]);
  });

  it.each(noFlags)("several requests, and %j as throws", async (throws) => {
    for (const name of ["rateLimitAll", "checkRateLimitAll"] as const) {
      await expect(limits[name]([{ name: "open" }], { throws })).rejects.toThrow(must("throws", THROWS, throws));
    }
    expect(await rows()).toEqual([]);
  });

  it("a bad config, inline or instead of the defined one", async () => {
    const none = noConfigs.map((config) => ({ config, problem: must("config", "an object", config) }));
    for (const { config, problem } of [...badConfigs, ...none]) {
      for (const name of ["open", "inline"]) {
        await expect(limits.rateLimit({ name, config })).rejects.toThrow(`Rate limit "${name}": ${problem}`);
      }
    }
    expect(await rows()).toEqual([]);
  });

  it("a count that the bucket can never hold is a denial with a reason, and no misuse", async () => {
    const never = { ok: false, reason: "too large", retryAt: END_OF_TIME };
    for (const asked of [
      { name: "open", count: 6 },
      { name: "spaced" },
      { name: "open", count: Number.MAX_VALUE },
      { name: "patient", count: 8.5, reserve: true },
    ]) {
      expect(await limits.rateLimit(asked)).toMatchObject(never);
      expect(await limits.checkRateLimit(asked)).toMatchObject(never);
      const { retryAt, statuses } = await limits.rateLimitAll([{ name: "shared" }, asked]);
      expect([retryAt, statuses]).toMatchObject([END_OF_TIME, [{ ok: true, remaining: 5 }, never]]);
      await expect(limits.rateLimit({ ...asked, throws: true })).rejects.toMatchObject({
        data: { kind: "RateLimited", reason: "too large", retryAt: END_OF_TIME },
      });
    }
    const job = makeFunctionReference<"mutation">("jobs:run");
    expect(await limits.scheduleRateLimited({ name: "patient", count: 8.5 }, job)).toEqual(never);
    expect(await rows()).toEqual([]);
  });

  it.each(["constructor", "__proto__"])("the name %s, which every object has, works like any other", async (name) => {
    const { rateLimit, getRateLimit } = define(Object.fromEntries([[name, { ...bucket, rate: 1 }]]));
    expect(await rateLimit({ name, key: name })).toMatchObject({ ok: true });
    expect(await rateLimit({ name, key: name })).toMatchObject({ ok: false });
    expect(await getRateLimit({ name, key: name })).toMatchObject({ name, value: 0, config: { rate: 1 } });
  });
});

describe("the component does not trust the wire:", () => {
  const { public: api, snapshots, upkeep } = component;
  const good = { name: "wire", config: bucket };
  const { insert, rows, mutation, query } = useBackend("component");
  const functions = {
    consume: (args: object) => mutation((ctx) => ctx.runMutation(api.consume, args as never)),
    check: (args: object) => query((ctx) => ctx.runQuery(api.check, args as never)),
    get: (args: object) => query((ctx) => ctx.runQuery(snapshots.get, args as never)),
    reset: (args: object) => mutation((ctx) => ctx.runMutation(upkeep.reset, args as never)),
    adjust: (args: object) =>
      mutation((ctx) => ctx.runMutation(upkeep.adjust, { adjustments: [{ count: 1, ...args }] } as never)),
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
  const takers = calls.filter((call) => call !== "reset");
  const counting = ["consume", "check", "consumeAll", "checkAll"] as const;
  const LIMIT = 'Rate limit "wire":';
  const slots = { kind: "concurrency", slots: 3, lease: 1000 } as const;
  it.each<[what: string, calls: readonly (keyof typeof functions)[], wrong: object, problem: string]>([
    ["config", takers, { config: { ...bucket, rate: NaN } }, `${LIMIT} rate must be`],
    ["count", counting, { count: NaN }, `${LIMIT} count must be`],
    ["count of slots", counting, { config: slots, count: 2 }, `${LIMIT} count must be 1`],
    ["adjustment", ["adjust"], { count: Infinity }, `${LIMIT} count must be ${ADJUSTMENT}`],
    ["name", calls, { name: "" }, NAME],
    ["key", calls, { key: "" }, `${LIMIT} key must be a non-empty string, got "".`],
  ])("a wrong %s is refused", async (_what, calls, wrong, problem) => {
    for (const call of calls) {
      const { config, ...args } = { ...good, ...wrong };
      await expect(functions[call](call === "reset" ? args : { ...args, config }), call).rejects.toThrow(problem);
    }
  });

  it("a wrong page and a wrong sweep are refused", async () => {
    const list = (args: object) => query((ctx) => ctx.runQuery(component.snapshots.list, { ...good, ...args }));
    await expect(list({ limit: 0 })).rejects.toThrow(`${LIMIT} limit must be`);
    await expect(list({ config: { ...bucket, rate: 0 } })).rejects.toThrow(`${LIMIT} rate must be`);
    const sweep = (args: object) => mutation((ctx) => ctx.runMutation(component.sweep.sweep, args as never));
    const targets = [{ name: "wire", configs: [{ ...bucket, period: -1 }] }];
    await expect(sweep({ targets })).rejects.toThrow(`${LIMIT} period must be`);
    await expect(sweep({ targets: [], cursor: "?" })).rejects.toThrow("cursor must be");
  });
});

describe("projectRateLimit", () => {
  const snapshot = snapshotBy({ name: "send", value: 3, ts: NOW, config: bucket });

  it.each([
    [{ now: undefined }, "now must be milliseconds since the epoch, got undefined."],
    ...[...noNumbers, 1e300, -1e300].map((now) => [{ now }, "now must be milliseconds since the epoch, got"]),
    ...[-1, NaN, Infinity, "5", null].map((count) => [{ count }, "count must be a finite number of at least 0"]),
  ] as [object, string][])("refuses %o: %s", (options, problem) => {
    expect(() => projectRateLimit(snapshot, { now: NOW, ...options })).toThrow(`Rate limit "send": ${problem}`);
    expect(() => projectRateLimit(snapshot, undefined as never)).toThrow("now must be milliseconds since the epoch");
    expect(() => projectRateLimit({} as never, { now: NOW })).toThrow("projectRateLimit needs a snapshot.");
    expect(() => usageOf({} as never, NOW)).toThrow("usageOf needs a snapshot.");
  });

  it("rounds down a time with a fraction of a millisecond, as performance clocks give it", () => {
    const at = (now: number) => projectRateLimit(snapshot, { now, count: 5 });
    expect(at(NOW)).toMatchObject({ ok: false, retryAt: NOW + 400 });
    expect(at(NOW + 0.9)).toEqual(at(NOW));
    expect([at(NOW + 399.9).ok, at(NOW + 400).ok]).toEqual([false, true]);
    const full = snapshotBy({ name: "send", value: 5, ts: NOW, config: sliding });
    expect(projectRateLimit(full, { now: NOW + 0.9 }).resetAt).toBe(NOW + 1000);
  });
});

/** Defines limits without their types, which forbid what is tried here. */
function defineLoosely(place: PlaceName, limits: Record<string, unknown>) {
  return defineIn(place, limits as Parameters<typeof defineIn>[1]);
}

type Caller = keyof ReturnType<typeof callers> & string;

/** Every function, called with the arguments that name and describe a bucket. */
function callers(limits: Calls) {
  const job = makeFunctionReference<"mutation">("jobs:run");
  const other = { name: "open", key: "another" };
  type Call = (args: object) => Promise<unknown>;
  return {
    ...limits,
    adjustRateLimit: (args) => limits.adjustRateLimit({ count: 1, ...args }),
    rateLimitAll: (args) => limits.rateLimitAll([other, args]),
    checkRateLimitAll: (args) => limits.checkRateLimitAll([args, other]),
    scheduleRateLimited: (args) => limits.scheduleRateLimited(args, job),
    cancelRateLimited: (args) => limits.cancelRateLimited({ count: 1, runAt: NOW, id: "none", ...args }),
  } satisfies Record<string, Call>;
}

function row(fields: { name: string; key?: string; value?: number; ts?: number }) {
  return { value: 2, ts: NOW, ...fields };
}
