// @vitest-environment edge-runtime
/**
 * Every public function with every kind of wrong argument: a plain Error that says which call it was and what it expected, never a
 * TypeError of JavaScript's own. The table is generated: functions × argument positions × wrong values.
 */
import { makeFunctionReference } from "convex/server";
import * as entry from "convex-rate-limits";
import { ConvexError } from "convex/values";
import { describe, expect, it } from "vitest";
import {
  component,
  defineIn,
  type MutationCtx,
  openBackend,
  type PlaceName,
  placeNames,
  rowsIn,
} from "../support/places.js";
import { snapshotBy } from "../support/snapshots.js";
import { rateLimitQueue } from "convex-rate-limits/queue";

const config = { kind: "token bucket", rate: 5, period: 1000 } as const;
const job = { name: "open", count: 1, runAt: 0, id: "none" };
const waiting = { name: "queued", id: "none" };
const send = makeFunctionReference<"mutation">("jobs:send");
const snapshot = snapshotBy({ name: "open", value: 3, ts: 0, config });

type Fn = (...args: unknown[]) => unknown;

interface Call {
  /** The name that an error says, if it does not name the limit. */
  readonly name: string;
  readonly fn: Fn;
  /** What a correct call gives. */
  readonly args: readonly unknown[];
  /** Positions that may be left out: undefined is right there. */
  readonly optional?: readonly number[];
  /** Positions whose value is the app's, or Convex's, to check. */
  readonly foreign?: readonly number[];
}

/** A hole is not undefined: iteration finds it, forEach does not. */
// eslint-disable-next-line no-sparse-arrays
const hole = [, { name: "open" }];

const wrongValues: readonly [string, unknown][] = [
  ["undefined", undefined],
  ["null", null],
  ["a number", 7],
  ["NaN", NaN],
  ["a string", "open"],
  ["an empty string", ""],
  ["true", true],
  ["a bigint", 7n],
  ["a symbol", Symbol("open")],
  ["an empty array", []],
  ["an array of undefined", [undefined]],
  ["an array of null", [null]],
  ["an array with a hole", hole],
  ["an array of strings", ["open"]],
  ["a function", () => "open"],
];

const wrongCtxs: readonly [string, unknown][] = [
  ...wrongValues,
  ["an empty object", {}],
  ["a ctx whose db is null", { db: null, runQuery: null, runMutation: null, scheduler: null }],
];

/** The functions of limits, called with the ctx of a mutation. */
function callsOf(place: PlaceName, ctx: MutationCtx): Call[] {
  const queued = { queued: { ...config, queue: {} } };
  const options = place === "tables" ? { queueModule: "limits" } : {};
  const limits = defineIn(place, { open: { ...config, overrides: true }, ...queued }, options);
  const call = (name: keyof typeof limits & string, args: unknown[], more: Partial<Call> = {}): Call => ({
    name,
    fn: limits[name] as Fn,
    args: [ctx, ...args],
    ...more,
  });
  const bucket = { name: "open" };
  return [
    call("rateLimit", [bucket]),
    call("checkRateLimit", [bucket]),
    call("rateLimitAll", [[bucket], {}], { optional: [2] }),
    call("checkRateLimitAll", [[bucket], {}], { optional: [2] }),
    call("adjustRateLimit", [{ ...bucket, count: 1 }]),
    call("pauseRateLimit", [{ ...bucket, until: 1 }]),
    call("resetRateLimit", [bucket]),
    call("overrideRateLimit", [{ ...bucket, block: true }]),
    call("clearRateLimitOverride", [bucket]),
    call("getRateLimit", [bucket]),
    call("listRateLimits", [bucket]),
    call("sweepRateLimits", [{ next: send }]),
    call("scheduleRateLimited", [bucket, send, {}], { foreign: [2, 3] }),
    call("cancelRateLimited", [job]),
    call("enqueueRateLimited", [{ name: "queued" }, send, {}], { foreign: [2, 3] }),
    call("cancelQueued", [waiting]),
    call("getQueued", [waiting]),
  ];
}

const { exposeQueue } = rateLimitQueue(
  entry.defineRateLimits({ open: { ...config, queue: {} } }, { queueModule: "limits" }),
);
/** The functions without a ctx. */
const plainCalls: Call[] = [
  { name: "exposeQueue", fn: exposeQueue as Fn, args: [{ job: () => null }] },
  { name: "projectRateLimit", fn: entry.projectRateLimit as Fn, args: [snapshot, { now: 0 }] },
  { name: "defineRateLimits", fn: entry.defineRateLimits as Fn, args: [{ open: config }, {}], optional: [1] },
  {
    name: "exposeRateLimit",
    fn: entry.defineRateLimits({ open: config }).exposeRateLimit as Fn,
    args: ["open", {}],
  },
  { name: "exposeRateLimit", fn: entry.defineRateLimits({}).exposeRateLimit as Fn, args: ["open", { config }] },
];

/** What a wrong call throws, or rejects with. */
async function thrownBy(fn: Fn, args: readonly unknown[]): Promise<unknown> {
  try {
    await fn(...args);
  } catch (error) {
    return error;
  }
  return undefined;
}

/** That it says where and what: the call or the limit, what was expected, and nothing that JavaScript made up. */
function saysWhatIsWrong(error: unknown, { name }: Call, what: string): void {
  expect(error, `${name} with ${what} as argument`).toBeInstanceOf(Error);
  const { constructor, message } = error as Error;
  expect([what, constructor, error instanceof ConvexError]).toEqual([what, Error, false]);
  expect(message, `${name} with ${what}`).toMatch(
    new RegExp(
      `^(${name} needs|Rate limit "|A rate limit's name must be|Rate limits in (your tables|the component) need)`,
    ),
  );
  expect(message, `${name} with ${what}`).toMatch(/ (needs?|must be|is not a field of|is not one of|is not defined)/);
  expect(message).not.toMatch(/Cannot read|is not a function|is not iterable|undefined \(reading|destructure/);
}

async function expectRefusals(call: Call, position: number, values: readonly [string, unknown][]): Promise<number> {
  let refused = 0;
  for (const [what, value] of values) {
    if (value === undefined && call.optional?.includes(position)) continue;
    const args = call.args.map((right, i) => (i === position ? value : right));
    saysWhatIsWrong(await thrownBy(call.fn, args), call, `${what} as argument ${position}`);
    refused++;
  }
  return refused;
}

describe.each(placeNames)("of the limits in the %s,", (place) => {
  const names = callsOf(place, {} as MutationCtx).map(({ name }) => name);

  it("every function is tried", () => {
    const all = Object.keys(defineIn(place, {})).filter((name) => !name.startsWith("expose"));
    expect([...names].sort()).toEqual(all.sort());
  });

  it.each(names)("%s refuses wrong arguments, having written nothing", async (name) => {
    const t = openBackend();
    await t.mutation(async (ctx) => {
      const call = callsOf(place, ctx).find((one) => one.name === name);
      if (!call) throw new Error(`${name} is not tried.`);
      let refused = 0;
      for (const [position] of call.args.entries()) {
        if (position === 0 || call.foreign?.includes(position)) continue;
        const values = wrongValues.filter(([what]) => !isRight(place, name, position, what));
        refused += await expectRefusals(call, position, values);
      }
      // Left out altogether: rateLimit(ctx), cancelRateLimited(ctx).
      saysWhatIsWrong(await thrownBy(call.fn, call.args.slice(0, 1)), call, "nothing");
      expect(refused).toBeGreaterThanOrEqual(10);
    });
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("what writes refuses the ctx of a query, also where there is nothing to write", async () => {
    const t = openBackend();
    const reads = /^(get|check|list)/;
    await t.query(async (ctx) => {
      for (const call of callsOf(place, ctx as unknown as MutationCtx)) {
        if (reads.test(call.name)) continue;
        saysWhatIsWrong(await thrownBy(call.fn, call.args), call, "the ctx of a query");
      }
      const { checkRateLimit } = defineIn(place, { open: config });
      expect(await checkRateLimit(ctx as unknown as MutationCtx, { name: "open" })).toMatchObject({ ok: true });
    });
  });

  it("cancelRateLimited refuses the ctx of an action, in its own name", async () => {
    const t = openBackend();
    const { cancelRateLimited } = defineIn(place, { open: config });
    await t.action(async (ctx) => {
      const message = String(await thrownBy(cancelRateLimited as Fn, [ctx, job]));
      expect(message).toMatch(
        /cancelRateLimited needs the ctx of a mutation, .* In an action call a mutation of yours/,
      );
    });
  });

  it.each(names)("%s refuses a ctx that is none", async (name) => {
    for (const call of callsOf(place, {} as MutationCtx).filter((one) => one.name === name)) {
      expect(await expectRefusals(call, 0, wrongCtxs)).toBe(wrongCtxs.length);
      saysWhatIsWrong(await thrownBy(call.fn, []), call, "nothing at all");
    }
  });
});

/** An empty array is an object without fields: the options may be one. */
function isRight(place: PlaceName, name: string, position: number, what: string): boolean {
  const takesNoField = name.endsWith("All") ? position === 2 : name === "sweepRateLimits" && place === "component";
  return takesNoField && what === "an empty array";
}

describe("without a ctx,", () => {
  it.each(plainCalls.map((call) => ({ call, name: call.name })))("$name refuses wrong arguments", async ({ call }) => {
    for (const [position] of call.args.entries()) {
      const values = wrongValues.filter(([what]) => !isRightWithoutCtx(call, position, what));
      await expectRefusals(call, position, values);
    }
    saysWhatIsWrong(await thrownBy(call.fn, []), call, "nothing");
  });

  it("exposeRateLimit refuses a key that is no function and a config that is none", async () => {
    const expose = entry.defineRateLimits({ open: config, mine: { ...config, keyed: true } }).exposeRateLimit as Fn;
    const call: Call = { name: "exposeRateLimit", fn: expose, args: [] };
    for (const key of [null, 7, "x", true, {}, []]) {
      saysWhatIsWrong(await thrownBy(expose, ["mine", { key }]), call, `the key ${JSON.stringify(key)}`);
    }
    for (const wrong of [null, 7, "x", true, []]) {
      saysWhatIsWrong(await thrownBy(expose, ["open", { config: wrong }]), call, `the config ${JSON.stringify(wrong)}`);
    }
    saysWhatIsWrong(await thrownBy(expose, ["open", { kye: () => "a" }]), call, "a misspelt field");
  });

  it("defineRateLimits refuses options that are none, and a component that is none", async () => {
    const call: Call = { name: "defineRateLimits", fn: entry.defineRateLimits as Fn, args: [] };
    for (const options of [
      { component: null },
      { component: 7 },
      { component: "rateLimits" },
      { component: {} },
      { componnet: component },
      { errorKeys: 1 },
    ]) {
      saysWhatIsWrong(await thrownBy(call.fn, [{ open: config }, options]), call, Object.keys(options).join());
    }
  });
});

function isRightWithoutCtx({ name, args }: Call, position: number, what: string): boolean {
  // An empty array is an object without fields; a string is a name.
  if (position === 1) return what === "an empty array" && (name === "defineRateLimits" || isDefined(args));
  if (name === "defineRateLimits") return what === "an empty array";
  return name === "exposeRateLimit" && what === "a string" && args[0] === "open";
}

/** A defined limit is exposed without any option. */
function isDefined([, options]: readonly unknown[]): boolean {
  return Object.keys(options as object).length === 0;
}

it("isRateLimitError takes anything", () => {
  for (const [, value] of wrongValues) expect(entry.isRateLimitError(value)).toBe(false);
  expect((entry.isRateLimitError as Fn)()).toBe(false);
});

it("an action's ctx without db: the message says what to do instead", async () => {
  const { rateLimit } = entry.defineRateLimits({ open: config });
  const action = { runMutation: () => undefined, runQuery: () => undefined };
  expect(String(await thrownBy(rateLimit as Fn, [action, { name: "open" }]))).toMatch(
    /In an action call the component, or a mutation of yours/,
  );
});
