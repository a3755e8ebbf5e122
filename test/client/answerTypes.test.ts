// @vitest-environment edge-runtime
/** What the types say of an answer: whether it may be a denial, and how much was taken. `tsc -p .` is the judge. */
import {
  type DataModelFromSchemaDefinition,
  defineSchema,
  defineTable,
  type GenericActionCtx,
  type GenericMutationCtx,
  makeFunctionReference,
} from "convex/server";
import { v } from "convex/values";
import {
  defineRateLimits,
  MINUTE,
  type RateLimitAllStatus,
  type RateLimitDecision,
  type RateLimitStatus,
  type ScheduleResult,
} from "convex-rate-limits";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";
import { rateLimitTables } from "convex-rate-limits/schema";
import { describe, expectTypeOf, it } from "vitest";
import type { ExactRateLimitStatus } from "../../src/wire/answers.js";
import { component } from "../support/places.js";

// eslint-disable-next-line @typescript-eslint/no-unused-vars -- For its type.
const schema = defineSchema({ ...rateLimitTables, denials: defineTable({ name: v.string() }) });
type App = DataModelFromSchemaDefinition<typeof schema>;
type MutationCtx = GenericMutationCtx<App>;
declare const ctx: MutationCtx;
declare const action: GenericActionCtx<App>;
const run = makeFunctionReference<"mutation">("jobs:run");

const definitions = {
  plain: { kind: "token bucket", rate: 10, period: MINUTE },
  loud: { kind: "token bucket", rate: 10, period: MINUTE, throws: true },
  spread: { kind: "token bucket", rate: 10, period: MINUTE, throws: { jitter: 0.5 } },
  quiet: { kind: "token bucket", rate: 10, period: MINUTE, throws: false },
  hot: { kind: "token bucket", rate: 10, period: MINUTE, shards: 4, mode: "shadow" },
} as const;
const limits = defineRateLimits(definitions);
const throwing = defineInComponent(definitions, { component, throws: true });
const jittering = defineRateLimits(definitions, { throws: { jitter: 0.2 } });

/** Compiled, never called: a context exists only inside Convex. */
function typeOf<T>(call: () => Promise<T>) {
  expectTypeOf(call).toBeFunction();
  return expectTypeOf<T>();
}
/** Of the answer's field `ok`. */
function okOf<Ok>(call: () => Promise<{ ok: Ok }>) {
  expectTypeOf(call).toBeFunction();
  return expectTypeOf<Ok>();
}
type Allowed<Status> = Extract<Status, { ok: true }>;
declare const maybe: boolean;
declare const someName: "loud" | "spread";
declare const anyName: "loud" | "quiet";

describe("the types know whether a denial is returned", () => {
  it("by the call, the definition and the options: what is nearest decides", () => {
    typeOf(() => limits.rateLimit(ctx, { name: "plain" })).toEqualTypeOf<ExactRateLimitStatus>();
    typeOf(() => limits.rateLimit(ctx, { name: "plain", throws: true })).toEqualTypeOf<Allowed<ExactRateLimitStatus>>();
    okOf(() => limits.rateLimit(ctx, { name: "plain", throws: { jitter: 1 } })).toEqualTypeOf<true>();
    typeOf(() => limits.rateLimit(ctx, { name: "plain", throws: maybe })).toEqualTypeOf<ExactRateLimitStatus>();
    okOf(() => limits.rateLimit(ctx, { name: "loud" })).toEqualTypeOf<true>();
    okOf(() => limits.checkRateLimit(ctx, { name: "spread" })).toEqualTypeOf<true>();
    typeOf(() => limits.rateLimit(ctx, { name: "loud", throws: false })).toEqualTypeOf<ExactRateLimitStatus>();
    typeOf(() => limits.rateLimit(ctx, { name: "hot" })).toEqualTypeOf<RateLimitStatus>();
    okOf(() => throwing.rateLimit(ctx, { name: "plain" })).toEqualTypeOf<true>();
    typeOf(() => throwing.rateLimit(ctx, { name: "hot" })).toEqualTypeOf<Allowed<RateLimitStatus>>();
    typeOf(() => throwing.rateLimit(ctx, { name: "quiet" })).toEqualTypeOf<ExactRateLimitStatus>();
    typeOf(() => throwing.rateLimit(ctx, { name: "plain", throws: false })).toEqualTypeOf<ExactRateLimitStatus>();
    okOf(() => jittering.checkRateLimit(ctx, { name: "plain" })).toEqualTypeOf<true>();
    typeOf(() =>
      throwing.rateLimit(ctx, { name: "inline", config: { kind: "token bucket", rate: 1, period: 1 } }),
    ).toEqualTypeOf<Allowed<RateLimitStatus>>();
  });

  it("of several names each has its say", () => {
    okOf(() => limits.rateLimit(ctx, { name: someName })).toEqualTypeOf<true>();
    typeOf(() => limits.rateLimit(ctx, { name: anyName })).toEqualTypeOf<ExactRateLimitStatus>();
    okOf(() => limits.rateLimitAll(ctx, [{ name: "loud" }, { name: "spread" }])).toEqualTypeOf<true>();
    typeOf(() => limits.rateLimitAll(ctx, [{ name: "loud" }, { name: "plain" }])).toEqualTypeOf<
      RateLimitAllStatus<ExactRateLimitStatus>
    >();
    okOf(() => throwing.checkRateLimitAll(ctx, [{ name: "plain" }])).toEqualTypeOf<true>();
    typeOf(() => throwing.rateLimitAll(ctx, [{ name: "plain" }], { throws: false })).toEqualTypeOf<
      RateLimitAllStatus<ExactRateLimitStatus>
    >();
  });

  it("of a job", () => {
    typeOf(() => limits.scheduleRateLimited(ctx, { name: "plain" }, run, {})).toEqualTypeOf<ScheduleResult>();
    typeOf(() => throwing.scheduleRateLimited(ctx, { name: "plain" }, run, {})).toEqualTypeOf<
      Extract<ScheduleResult, { ok: true }>
    >();
  });
});

describe("the types know how much was taken", () => {
  it("of a call with atLeast", () => {
    typeOf(() => throwing.rateLimit(ctx, { name: "plain", count: 9, atLeast: 1 }))
      .toHaveProperty("taken")
      .toEqualTypeOf<number>();
    typeOf(async () => {
      const status = await limits.rateLimit(ctx, { name: "plain", count: 9, atLeast: 1 });
      return status.ok ? status.taken : 0;
    }).toEqualTypeOf<number>();
    typeOf(() => throwing.rateLimit(ctx, { name: "plain" }))
      .toHaveProperty("taken")
      .toEqualTypeOf<number | undefined>();
  });

  it("and that jobs and several limits take all or nothing", () => {
    const calls = () => [
      // @ts-expect-error: all or nothing.
      limits.rateLimitAll(ctx, [{ name: "plain", atLeast: 1 }]),
      // @ts-expect-error: a job takes what it says.
      limits.scheduleRateLimited(ctx, { name: "plain", atLeast: 1 }, run, {}),
    ];
    expectTypeOf(calls).toBeFunction();
  });
});

describe("the types know onDecision", () => {
  it("what it needs of a ctx, calls that decide must be given, and others need not", () => {
    const counting = defineInComponent(definitions, {
      component,
      onDecision: async (own: MutationCtx, decision) => {
        expectTypeOf(decision).toEqualTypeOf<RateLimitDecision>();
        await own.db.insert("denials", { name: decision.name });
      },
    });
    const plain = defineInComponent(definitions, {
      component,
      onDecision: (_ctx, { name }) => {
        console.log(name);
      },
    });
    const calls = () => [
      counting.rateLimit(ctx, { name: "plain" }),
      counting.checkRateLimit(action, { name: "plain" }),
      counting.resetRateLimit(action, { name: "plain" }),
      plain.rateLimit(action, { name: "plain" }),
      // @ts-expect-error: an action has no db.
      counting.rateLimit(action, { name: "plain" }),
      // @ts-expect-error: an action has no db.
      counting.rateLimitAll(action, [{ name: "plain" }]),
      // @ts-expect-error: an action has no db.
      counting.scheduleRateLimited(action, { name: "plain" }, run, {}),
      // @ts-expect-error: it takes a ctx and a decision.
      defineRateLimits(definitions, { onDecision: "log" }),
    ];
    expectTypeOf(calls).toBeFunction();
  });
});

it("no definition, option or call takes another word", () => {
  const calls = () => [
    // @ts-expect-error: not a mode.
    defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, mode: "off" } }),
    // @ts-expect-error: not a way to throw.
    defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, throws: "always" } }),
    // @ts-expect-error: the fraction is called jitter.
    defineRateLimits({}, { throws: { spread: 1 } }),
    // @ts-expect-error: not a mode.
    limits.rateLimit(ctx, { name: "plain", mode: "off" }),
  ];
  expectTypeOf(calls).toBeFunction();
});
