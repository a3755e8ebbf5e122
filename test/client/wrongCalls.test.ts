/**
 * Every public function with every kind of wrong argument. Each call throws a plain Error that names the call and what it expected, never
 * JavaScript's own TypeError. The table is generated: functions × argument positions × wrong values.
 */
import { makeFunctionReference } from "convex/server";
import * as entry from "convex-rate-limits";
import { projectRateLimit, usageOf } from "convex-rate-limits/client";
import { defineRateLimits } from "convex-rate-limits/component";
import { rateLimitLive } from "convex-rate-limits/live";
import { ConvexError } from "convex/values";
import { describe, expect, it } from "vitest";
import { thrownBy } from "../support/errors.js";
import type { MutationCtx, PlaceName } from "../support/places.js";
import { component, defineIn, openBackend, placeNames, rowsIn } from "../support/places.js";
import { snapshotBy } from "../support/snapshots.js";

const config = { kind: "token bucket", rate: 5, period: 1000 } as const;
const job = { name: "open", count: 1, runAt: 0, id: "none" };
const lease = { name: "open", takenAt: 0, until: 1 };
const waiting = { name: "queued", id: "none" };
const send = makeFunctionReference<"mutation">("jobs:send");
const snapshot = snapshotBy({ name: "open", value: 3, ts: 0, config });

type Fn = (...args: unknown[]) => unknown;

interface Call {
  /** The name of the function, which an error contains if it does not name the limit. */
  readonly name: string;
  readonly fn: Fn;
  /** The arguments of a correct call. */
  readonly args: readonly unknown[];
  /** By position: the values of `wrongValues` that are right there; all, if the app or Convex checks the argument. */
  readonly right?: Readonly<Record<number, "all" | readonly (keyof typeof wrongValues)[]>>;
}

const wrongValues = {
  undefined: undefined,
  null: null,
  "a number": 7,
  NaN: NaN,
  "a string": "open",
  "an empty string": "",
  true: true,
  "a bigint": 7n,
  "a symbol": Symbol("open"),
  // It is an object without fields, as options may be.
  "an empty array": [],
  "an array of undefined": [undefined],
  "an array of null": [null],
  // A hole is not undefined: iteration visits it, forEach does not.
  // oxlint-disable-next-line no-sparse-arrays
  "an array with a hole": [, { name: "open" }],
  "an array of strings": ["open"],
  "a function": () => "open",
};
const wrongCtxs = {
  ...wrongValues,
  "an empty object": {},
  "a ctx whose db is null": { db: null, runQuery: null, runMutation: null, scheduler: null },
};

/** Correct calls of all functions of limits, with the ctx of a mutation. */
function callsOf(place: PlaceName, ctx: MutationCtx): Call[] {
  const queued = { queued: { ...config, queue: {} } };
  const options = place === "tables" ? { queueModule: "limits" } : {};
  const limits = defineIn(place, { open: config, ...queued }, options);
  const call = (name: keyof typeof limits & string, args: unknown[], right: Call["right"] = {}): Call => {
    return { name, fn: limits[name] as Fn, args: [ctx, ...args], right };
  };
  const bucket = { name: "open" };
  const several = { 2: ["undefined", "an empty array"] } as const;
  return [
    call("rateLimit", [bucket]),
    call("checkRateLimit", [bucket]),
    call("rateLimitAll", [[bucket], {}], several),
    call("checkRateLimitAll", [[bucket], {}], several),
    call("adjustRateLimit", [{ ...bucket, count: 1 }]),
    call("pauseRateLimit", [{ ...bucket, until: 1 }]),
    call("resetRateLimit", [bucket]),
    call("overrideRateLimit", [{ ...bucket, block: true }]),
    call("clearRateLimitOverride", [bucket]),
    call("getRateLimit", [bucket]),
    call("listRateLimits", [bucket]),
    call("sweepRateLimits", [{ next: send }], place === "component" ? { 1: ["an empty array"] } : {}),
    call("scheduleRateLimited", [bucket, send, {}], { 2: "all", 3: "all" }),
    call("cancelRateLimited", [job]),
    call("releaseRateLimit", [lease]),
    call("enqueueRateLimited", [{ name: "queued" }, send, {}], { 2: "all", 3: "all" }),
    call("cancelQueued", [waiting]),
    call("getQueued", [waiting]),
  ];
}

const { exposeQueue } = defineIn("tables", { open: { ...config, queue: {} } }, { queueModule: "limits" });
const { exposeRateLimit } = rateLimitLive(entry.defineRateLimits({ open: config, mine: { ...config, keyed: true } }));
const exposeInline = rateLimitLive(entry.defineRateLimits({})).exposeRateLimit as Fn;
const define = { name: "defineRateLimits", fn: entry.defineRateLimits as Fn };
const inComponent = { name: "defineRateLimits", fn: defineRateLimits as Fn };
const besides: Fn = (limits, options) => inComponent.fn(limits, { component, ...(options as object) });
const expose = { name: "exposeRateLimit", fn: exposeRateLimit as Fn };
/** Correct calls of the functions without a ctx. */
const plainCalls: Call[] = [
  { name: "exposeQueue", fn: exposeQueue as Fn, args: [{ job: () => null }] },
  { name: "projectRateLimit", fn: projectRateLimit as Fn, args: [snapshot, { now: 0 }] },
  { name: "usageOf", fn: usageOf as Fn, args: [snapshot, 0], right: { 1: ["a number"] } },
  { ...define, args: [{ open: config }, {}], right: { 0: ["an empty array"], 1: ["undefined", "an empty array"] } },
  { ...inComponent, args: [{ open: config }, { component }], right: { 0: ["an empty array"] } },
  { ...expose, args: ["open", {}], right: { 0: ["a string"], 1: ["an empty array"] } },
  { ...expose, fn: exposeInline, args: ["open", { config }], right: { 0: ["a string"] } },
];
/** Options with a wrong field, or a field with a wrong value. */
const wrongFields: [field: string, call: Pick<Call, "name" | "fn">, first: unknown, values: unknown[]][] = [
  ["key", expose, "mine", [null, 7, "x", true, {}, []]],
  ["config", expose, "open", [null, 7, "x", true, []]],
  ["kye", expose, "open", [() => "a"]],
  ["component", define, { open: config }, [null, 7, "rateLimits", {}]],
  ["component", inComponent, { open: config }, [undefined, null, 7, "rateLimits", {}]],
  ["throwz", { ...inComponent, fn: besides }, { open: config }, [true]],
  ["componnet", define, { open: config }, [component]],
  ["errorKeys", define, { open: config }, [1]],
  ["throws", define, { open: config }, [null, 1, "on", { jitter: 1.1 }]],
];

/** The error that a wrong call throws or rejects with. */
const errorOf = (fn: Fn, args: readonly unknown[]) => thrownBy((async () => await fn(...args))());

/** Expects an error that names the call or the limit, says what was expected, and is not JavaScript's own. */
async function refuses({ name, fn }: Pick<Call, "name" | "fn">, args: readonly unknown[], what: string): Promise<void> {
  const error = await errorOf(fn, args);
  expect(error, `${name} with ${what}`).toBeInstanceOf(Error);
  const { constructor, message } = error as Error;
  expect([what, constructor, error instanceof ConvexError]).toEqual([what, Error, false]);
  const where = `${name}:? |Rate limit "|A rate limit's name must be|Rate limits in (your tables|the component) need`;
  expect(message, `${name} with ${what}`).toMatch(new RegExp(`^(${where})`));
  expect(message, `${name} with ${what}`).toMatch(/ (needs?|must be|is not a field of|is not one of|is not defined)/);
  expect(message).not.toMatch(/Cannot read|is not a function|is not iterable|undefined \(reading|destructure/);
}

async function refusesAt(call: Call, position: number, values: object): Promise<void> {
  const right: readonly string[] | "all" = call.right?.[position] ?? [];
  for (const [what, value] of Object.entries(values)) {
    if (right === "all" || right.includes(what)) continue;
    const args = call.args.map((each, i) => (i === position ? value : each) as unknown);
    await refuses(call, args, `${what} as argument ${position}`);
  }
}

describe.each(placeNames)("for the limits in the %s,", (place) => {
  const names = callsOf(place, {} as MutationCtx).map(({ name }) => name);

  it("every function is tried", () => {
    const all = Object.keys(defineIn(place, {})).filter((name) => !name.startsWith("expose"));
    expect([...names].sort()).toEqual(all.sort());
  });

  it.each(names)("%s refuses wrong arguments and a wrong ctx, and writes nothing", async (name) => {
    const t = openBackend();
    await t.mutation(async (ctx) => {
      for (const call of callsOf(place, ctx).filter((each) => each.name === name)) {
        await refusesAt(call, 0, wrongCtxs);
        for (const position of call.args.keys()) if (position > 0) await refusesAt(call, position, wrongValues);
        await refuses(call, [], "nothing at all");
        // All other arguments are left out: rateLimit(ctx), cancelRateLimited(ctx).
        await refuses(call, [ctx], "nothing but a ctx");
        if (name !== "scheduleRateLimited") continue;
        await refuses(call, [{ ...ctx, scheduler: null }, ...call.args.slice(1)], "a ctx whose scheduler is null");
      }
    });
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("functions that write refuse the ctx of a query, even if there is nothing to write", async () => {
    await openBackend().query(async (queryCtx) => {
      const ctx = queryCtx as unknown as MutationCtx;
      for (const call of callsOf(place, ctx)) {
        if (/^(getR|check|list)/.test(call.name)) await call.fn(...call.args);
        else if (call.name !== "getQueued") await refuses(call, call.args, "the ctx of a query");
      }
      expect(await defineIn(place, { open: config }).checkRateLimit(ctx, { name: "open" })).toMatchObject({ ok: true });
    });
  });

  it("cancelRateLimited refuses the ctx of an action, with an error that names it", async () => {
    const { cancelRateLimited } = defineIn(place, { open: config });
    const call = async (ctx: unknown) => String(await errorOf(cancelRateLimited as Fn, [ctx, job]));
    expect(await openBackend().action(call)).toMatch(
      /cancelRateLimited needs the ctx of a mutation, .* In an action call a mutation of yours/,
    );
  });
});

describe("without a ctx,", () => {
  it.each(plainCalls.map((call) => ({ call, ...call })))("$name refuses wrong arguments", async ({ call }) => {
    for (const position of call.args.keys()) await refusesAt(call, position, wrongValues);
    await refuses(call, [], "nothing");
  });

  it.each(wrongFields)("a wrong option %s is refused", async (field, call, first, values) => {
    for (const value of values) await refuses(call, [first, { [field]: value }], `${field}: ${JSON.stringify(value)}`);
  });
});
