// @vitest-environment edge-runtime
/** What must not compile does not compile. `tsc -p .` is the judge; at run time only the shapes of the answers are looked at. */
import {
  type AnyDataModel,
  type DataModelFromSchemaDefinition,
  defineSchema,
  defineTable,
  type FunctionArgs,
  type FunctionReference,
  type FunctionReturnType,
  type FunctionVisibility,
  type GenericActionCtx,
  type GenericMutationCtx,
  type GenericQueryCtx,
  makeFunctionReference,
} from "convex/server";
import { type GenericId, type Infer, v } from "convex/values";
import {
  defineRateLimits,
  isRateLimitError,
  MINUTE,
  type RateLimitConfig,
  type RateLimitedJob,
  type RateLimits,
  type RateLimitSnapshot,
  type RateLimitStatus,
  type ScheduleResult,
  type InTables,
} from "convex-rate-limits";
import { rateLimitAdmin, type RateLimitPage, type SweepResult } from "convex-rate-limits/admin";
import { defineRateLimits as defineInComponent, type InComponent } from "convex-rate-limits/component";
import { type EnqueueResult, rateLimitQueue } from "convex-rate-limits/queue";
import { rateLimitQueueTables } from "convex-rate-limits/queue/schema";
import {
  rateLimitTables,
  type vRateLimitedJob,
  type vRateLimitPage,
  type vSweepResult,
} from "convex-rate-limits/schema";
import { describe, expect, expectTypeOf, it } from "vitest";
import { component } from "../support/places.js";
import type { ExactRateLimitStatus } from "../../src/wire/answers.js";

const freeInTables = defineRateLimits({});
const { adjustRateLimit, cancelRateLimited, checkRateLimit, checkRateLimitAll } = freeInTables;
const { getRateLimit, rateLimit, rateLimitAll, resetRateLimit, scheduleRateLimited } = freeInTables;

/* eslint-disable @typescript-eslint/no-unused-vars -- The schemas are here for their types. */
const users = defineTable({ name: v.string(), tags: v.array(v.string()) }).index("by_name", ["name"]);
const messages = defineTable({ author: v.id("users"), body: v.string() })
  .index("by_author", ["author"])
  .searchIndex("by_body", { searchField: "body" });
const appSchema = defineSchema({ ...rateLimitTables, ...rateLimitQueueTables, users, messages });
const bareSchema = defineSchema({ users, messages });
/** A table of that name that is not ours. */
const strangeSchema = defineSchema({ users, rateLimits: defineTable({ used: v.number() }) });
/** Our fields, but an index that is not ours. */
const unindexedSchema = defineSchema({
  rateLimits: defineTable({
    name: v.string(),
    key: v.optional(v.string()),
    shard: v.number(),
    value: v.number(),
    ts: v.number(),
  }),
});
/* eslint-enable @typescript-eslint/no-unused-vars */

type App = DataModelFromSchemaDefinition<typeof appSchema>;
type Bare = DataModelFromSchemaDefinition<typeof bareSchema>;
type Strange = DataModelFromSchemaDefinition<typeof strangeSchema>;
type Unindexed = DataModelFromSchemaDefinition<typeof unindexedSchema>;

const definitions = {
  send: { kind: "token bucket", rate: 10, period: MINUTE, keyed: true },
  signUp: { kind: "fixed window", rate: 100, period: MINUTE, keyed: false },
  either: { kind: "fixed window", rate: 100, period: MINUTE, start: 0 },
  hot: { kind: "fixed window", rate: 100, period: MINUTE, shards: 4 },
} as const;
const config: RateLimitConfig = { kind: "token bucket", rate: 1, period: MINUTE };

const inTables = defineRateLimits(definitions);
const inComponent = defineInComponent(definitions, { component });
const admin = rateLimitAdmin(inTables);
const adminOfComponent = rateLimitAdmin(inComponent);
/** Without definitions, in the component. */
const free = defineInComponent({}, { component });

/** Compiled, never called: a context exists only inside Convex. */
function compiled(_calls: () => unknown): void {
  expectTypeOf(_calls).toBeFunction();
}

declare const anyName: string;
declare const query: GenericQueryCtx<App>;
declare const mutation: GenericMutationCtx<App>;
declare const action: GenericActionCtx<App>;
declare const bareQuery: GenericQueryCtx<Bare>;
declare const bareMutation: GenericMutationCtx<Bare>;
declare const bareAction: GenericActionCtx<Bare>;

/** The functions that take such a ctx. */
type Taking<Ctx, Functions> = {
  [Name in keyof Functions & string]: Functions[Name] extends (ctx: infer Wanted, ...more: never[]) => unknown
    ? Ctx extends Wanted
      ? Name
      : never
    : never;
}[keyof Functions & string];
type All = Exclude<(keyof typeof inTables | keyof typeof admin) & string, "exposeRateLimit">;
type Reading = "checkRateLimit" | "checkRateLimitAll" | "getRateLimit" | "listRateLimits";

describe("the types know the place", () => {
  it("tables: only the ctx of a mutation whose schema has the tables does everything, and that of such a query reads", () => {
    type Tables<Ctx> = Taking<Ctx, typeof inTables & typeof admin>;
    expectTypeOf<Tables<typeof mutation>>().toEqualTypeOf<All>();
    expectTypeOf<Tables<typeof query>>().toEqualTypeOf<Reading>();
    expectTypeOf<Tables<typeof action>>().toBeNever();
    // A forgotten table, another one of that name, one without the index, and an app without a schema.
    expectTypeOf<Tables<typeof bareQuery | typeof bareMutation>>().toBeNever();
    expectTypeOf<Tables<GenericQueryCtx<Strange> | GenericMutationCtx<Strange>>>().toBeNever();
    expectTypeOf<Tables<GenericQueryCtx<Unindexed> | GenericMutationCtx<Unindexed>>>().toBeNever();
    expectTypeOf<Tables<GenericMutationCtx<AnyDataModel>>>().toBeNever();
  });

  it("component: the ctx of any mutation or action does everything, but a job is cancelled in a mutation; a query's reads", () => {
    type Component<Ctx> = Taking<Ctx, typeof inComponent & typeof adminOfComponent>;
    expectTypeOf<Component<typeof mutation>>().toEqualTypeOf<All>();
    expectTypeOf<Component<typeof bareMutation>>().toEqualTypeOf<All>();
    expectTypeOf<Component<GenericMutationCtx<AnyDataModel>>>().toEqualTypeOf<All>();
    expectTypeOf<Component<typeof action>>().toEqualTypeOf<Exclude<All, "cancelRateLimited">>();
    expectTypeOf<Component<typeof bareAction>>().toEqualTypeOf<Exclude<All, "cancelRateLimited">>();
    expectTypeOf<Component<typeof bareQuery>>().toEqualTypeOf<Reading>();
  });

  it("the limits of no definitions take the same ctx", () => {
    expectTypeOf<Taking<typeof mutation, typeof freeInTables>>().toEqualTypeOf<All & keyof typeof free>();
    expectTypeOf<Taking<typeof query, typeof freeInTables>>().toEqualTypeOf<Reading & keyof typeof free>();
    expectTypeOf<Taking<typeof bareMutation | typeof action, typeof freeInTables>>().toBeNever();
    expectTypeOf<Taking<typeof bareMutation, typeof free>>().toEqualTypeOf<All & keyof typeof free>();
    expectTypeOf<Taking<typeof bareQuery, typeof free>>().toEqualTypeOf<Reading & keyof typeof free>();
  });

  it("the place follows from the entry, also when the component's type is unknown before codegen", () => {
    expectTypeOf(inTables).toEqualTypeOf<RateLimits<typeof definitions, InTables>>();
    expectTypeOf(inComponent).toEqualTypeOf<RateLimits<typeof definitions, InComponent>>();
    expectTypeOf(defineRateLimits(definitions, {})).toEqualTypeOf(inTables);
    // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-explicit-any -- `components` is any until codegen has run.
    expectTypeOf(defineInComponent(definitions, { component: component as any })).toEqualTypeOf(inComponent);
    compiled(() => [
      // @ts-expect-error: not the component's API.
      defineInComponent(definitions, { component: {} }),
      // @ts-expect-error: the component is another entry's option.
      defineRateLimits(definitions, { component }),
      // @ts-expect-error: no such option.
      defineRateLimits(definitions, { componnet: component }),
    ]);
  });
});

declare const job: RateLimitedJob;
const send = makeFunctionReference<"mutation", { to: string }, null>("mail:send");
const now = makeFunctionReference<"action", Record<string, never>, null>("mail:now");
const lookAt = makeFunctionReference<"query", { to: string }, null>("mail:lookAt");
const next = makeFunctionReference<"mutation", { cursor?: string }, null>("upkeep:sweep");

describe("the functions for later work", () => {
  it("take a spread, a page's place and what continues a sweep", () => {
    compiled(() => [
      inTables.rateLimitAll(
        mutation,
        [
          { name: "send", key: "a" },
          { name: "signUp", count: 2 },
        ],
        { throws: true },
      ),
      inTables.checkRateLimitAll(query, [{ name: "send", key: "a" }]),
      inTables.adjustRateLimit(mutation, { name: "signUp", count: -2 }),
      inTables.scheduleRateLimited(mutation, { name: "send", key: "a", spread: 10 }, send, { to: "b" }),
      inTables.scheduleRateLimited(mutation, { name: "inline", config }, now),
      inTables.cancelRateLimited(mutation, job),
      admin.listRateLimits(query, { name: "send", cursor: "", limit: 5, onlyLimited: true }),
      admin.sweepRateLimits(mutation, { next, cursor: "" }),
      adminOfComponent.sweepRateLimits(bareMutation, {}),
      // @ts-expect-error: who continues the sweep?
      admin.sweepRateLimits(mutation, {}),
      // @ts-expect-error: a function that takes no cursor cannot continue it.
      admin.sweepRateLimits(mutation, { next: send }),
      // @ts-expect-error: no such option.
      adminOfComponent.sweepRateLimits(bareMutation, { nxet: next }),
    ]);
  });

  it("know names and keys, in each request of several", () => {
    const list: { name: "send"; key: string }[] = [];
    compiled(() => [
      inTables.rateLimitAll(mutation, list),
      inTables.rateLimitAll(mutation, []),
      inTables.rateLimitAll(mutation, [{ name: "either" }, { name: "either", key: "a", reserve: true }]),
      inTables.rateLimitAll(mutation, [{ name: "inline", config }]),
      // @ts-expect-error: no such limit.
      inTables.rateLimitAll(mutation, [{ name: "signUp" }, { name: "sendd", key: "a" }]),
      // @ts-expect-error: the key is missing.
      inTables.rateLimitAll(mutation, [{ name: "signUp" }, { name: "send" }]),
      // @ts-expect-error: one bucket for all.
      inTables.checkRateLimitAll(query, [{ name: "signUp", key: "a" }]),
      // @ts-expect-error: it is said once, for all of them.
      inTables.rateLimitAll(mutation, [{ name: "signUp", throws: true }]),
      // @ts-expect-error: no such option.
      inTables.rateLimitAll(mutation, [{ name: "signUp" }], { throw: true }),
      // @ts-expect-error: the key is missing.
      inTables.adjustRateLimit(mutation, { name: "send", count: 1 }),
      // @ts-expect-error: the count is missing.
      inTables.adjustRateLimit(mutation, { name: "signUp" }),
      // @ts-expect-error: the key is missing.
      inTables.scheduleRateLimited(mutation, { name: "send" }, now),
      // @ts-expect-error: a job always reserves.
      inTables.scheduleRateLimited(mutation, { name: "signUp", reserve: true }, now),
      // @ts-expect-error: no such limit.
      admin.listRateLimits(query, { name: "sendd" }),
      // @ts-expect-error: a cursor is a string; null is the end.
      admin.listRateLimits(query, { name: "send", cursor: null }),
    ]);
  });

  it("know the scheduled function's arguments", () => {
    compiled(() => [
      // @ts-expect-error: the arguments are missing.
      inTables.scheduleRateLimited(mutation, { name: "signUp" }, send),
      // @ts-expect-error: another type.
      inTables.scheduleRateLimited(mutation, { name: "signUp" }, send, { to: 5 }),
      // @ts-expect-error: another name.
      inTables.scheduleRateLimited(mutation, { name: "signUp" }, send, { too: "b" }),
      // @ts-expect-error: a query cannot be scheduled.
      inTables.scheduleRateLimited(mutation, { name: "signUp" }, lookAt, { to: "b" }),
    ]);
  });

  it("a handle is what its validator says, and fits into a document", () => {
    expectTypeOf<Infer<typeof vRateLimitedJob>>().toEqualTypeOf<RateLimitedJob>();
    expectTypeOf<RateLimitedJob["id"]>().toEqualTypeOf<GenericId<"_scheduled_functions">>();
    expectTypeOf(admin.listRateLimits).returns.resolves.toEqualTypeOf<RateLimitPage>();
    expectTypeOf(admin.sweepRateLimits).returns.resolves.toEqualTypeOf<SweepResult>();
    expectTypeOf<Infer<typeof vRateLimitPage>>().toEqualTypeOf<RateLimitPage>();
    expectTypeOf<Infer<typeof vSweepResult>>().toEqualTypeOf<SweepResult>();
  });

  it("need a config in each call where nothing is defined", () => {
    compiled(() => [
      rateLimit(mutation, { name: "a", config }),
      checkRateLimit(query, { name: "a", key: "k", count: 2, config }),
      getRateLimit(query, { name: "a", config }),
      resetRateLimit(mutation, { name: "a", key: "k", config }),
      rateLimitAll(mutation, [{ name: "a", config }]),
      checkRateLimitAll(query, [{ name: "a", config }]),
      adjustRateLimit(mutation, { name: "a", config, count: 1 }),
      scheduleRateLimited(mutation, { name: "a", config }, send, { to: "b" }),
      cancelRateLimited(mutation, job),
      free.rateLimitAll(bareAction, [{ name: "a", config }], { throws: true }),
      // @ts-expect-error: only what is defined is listed.
      rateLimitAdmin(free).listRateLimits(bareQuery, { name: "a" }),
      // @ts-expect-error: the place is chosen where the limits are defined.
      rateLimit(mutation, { name: "a", config, component }),
      // @ts-expect-error: the config is missing.
      rateLimit(mutation, { name: "a" }),
      // @ts-expect-error: the config is missing.
      rateLimitAll(mutation, [{ name: "a" }]),
      // @ts-expect-error: the config is missing.
      scheduleRateLimited(mutation, { name: "a" }, now),
      // @ts-expect-error: the config is missing.
      free.rateLimit(bareMutation, { name: "a" }),
      // @ts-expect-error: no such argument.
      rateLimit(mutation, { name: "a", config, cuont: 2 }),
    ]);
  });
});

describe("the types know the limits", () => {
  it("a misspelt name does not compile: it is not one of the limits", () => {
    compiled(() => [
      // @ts-expect-error: no such limit.
      inTables.rateLimit(mutation, { name: "sendd", key: "a" }),
      // @ts-expect-error: no such limit.
      inComponent.checkRateLimit(mutation, { name: "signup" }),
      // @ts-expect-error: no such limit.
      inTables.getRateLimit(mutation, { name: "toString" }),
      // @ts-expect-error: no such limit.
      inTables.resetRateLimit(mutation, { name: "sendd", key: "a" }),
      // @ts-expect-error: any string may be none of them.
      inTables.rateLimit(mutation, { name: anyName, key: "a" }),
      // @ts-expect-error: the name is missing.
      inTables.rateLimit(mutation, { key: "a" }),
    ]);
  });

  it("an inline limit has any name and a config; a defined one may have another config", () => {
    compiled(() => [
      inTables.rateLimit(mutation, { name: "inline", config }),
      inTables.rateLimit(mutation, { name: "inline", key: "a", config }),
      inTables.rateLimit(mutation, { name: anyName, key: "a", config }),
      inComponent.checkRateLimit(query, { name: "inline", key: "a", config }),
      inTables.rateLimit(mutation, { name: "send", key: "a", config }),
      inTables.resetRateLimit(mutation, { name: "inline", key: "a", config }),
      // @ts-expect-error: another config changes nothing about the key.
      inTables.rateLimit(mutation, { name: "send", config }),
    ]);
  });

  it("keyed: true requires a key, false forbids one, absent allows both", () => {
    const maybe = undefined as string | undefined;
    compiled(() => [
      inTables.rateLimit(mutation, { name: "send", key: "a" }),
      // @ts-expect-error: the key is missing.
      inTables.rateLimit(mutation, { name: "send" }),
      // @ts-expect-error: a missing user id must not become one bucket for everybody.
      inTables.rateLimit(mutation, { name: "send", key: undefined }),
      // @ts-expect-error: nor a user id that may be missing.
      inComponent.rateLimit(mutation, { name: "send", key: maybe }),
      // @ts-expect-error: the key is missing.
      inTables.resetRateLimit(mutation, { name: "send" }),
      // @ts-expect-error: the key is missing.
      inTables.getRateLimit(mutation, { name: "send" }),
      // @ts-expect-error: a number is no key.
      inTables.rateLimit(mutation, { name: "send", key: 7 }),

      inTables.rateLimit(mutation, { name: "signUp" }),
      // @ts-expect-error: one bucket for all.
      inTables.rateLimit(mutation, { name: "signUp", key: "a" }),
      // @ts-expect-error: one bucket for all.
      inComponent.checkRateLimit(query, { name: "signUp", key: maybe }),

      inTables.rateLimit(mutation, { name: "either" }),
      inTables.rateLimit(mutation, { name: "either", key: "a" }),
      inTables.rateLimit(mutation, { name: "either", key: maybe }),
      // @ts-expect-error: null is no key.
      inTables.rateLimit(mutation, { name: "either", key: null }),
    ]);
  });

  it("a union of names demands what any of them demands", () => {
    const some = "send" as "send" | "either";
    const others = "signUp" as "signUp" | "either";
    const all = "send" as keyof typeof definitions;
    compiled(() => [
      inTables.rateLimit(mutation, { name: some, key: "a" }),
      inTables.rateLimit(mutation, { name: others }),
      // @ts-expect-error: one of them is keyed.
      inTables.rateLimit(mutation, { name: some }),
      // @ts-expect-error: one of them is keyed.
      inComponent.checkRateLimit(query, { name: some, key: undefined }),
      // @ts-expect-error: one of them is keyed.
      inTables.rateLimitAll(mutation, [{ name: some }]),
      inTables.rateLimitAll(mutation, [{ name: some, key: "a" }, { name: others }]),
      // @ts-expect-error: one of them is keyed.
      inTables.rateLimit(mutation, { name: all }),
      // @ts-expect-error: one of them is keyed.
      inTables.adjustRateLimit(mutation, { name: some, count: 1 }),
    ]);
  });

  it("a function that is generic over the name compiles", () => {
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- What such a function compiles to is the test.
    const guard = async <Name extends "send" | "either">(name: Name, key: string) => {
      const status = await inTables.rateLimit(mutation, { name, key, count: 2, reserve: true });
      await inTables.checkRateLimit(query, { name, key });
      await inTables.getRateLimit(query, { name, key });
      await inTables.resetRateLimit(mutation, { name, key });
      await inTables.adjustRateLimit(mutation, { name, key, count: -1 });
      await inComponent.rateLimit(action, { name, key, throws: true, config });
      // @ts-expect-error: one of them is keyed.
      await inTables.rateLimit(mutation, { name });
      return status.ok;
    };
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- The same.
    const shared = async <Name extends "signUp" | "either">(name: Name) => {
      await inTables.rateLimit(mutation, { name });
      // @ts-expect-error: one of them has one bucket for all.
      await inTables.rateLimit(mutation, { name, key: "a" });
    };
    expectTypeOf(guard<"send">).returns.resolves.toBeBoolean();
    expectTypeOf(shared<"either">).returns.resolves.toBeVoid();
  });

  it("unknown arguments and wrong types do not compile", () => {
    compiled(() => [
      inTables.rateLimit(mutation, { name: "signUp", count: 2, reserve: true, throws: true }),
      // @ts-expect-error: no such argument.
      inTables.rateLimit(mutation, { name: "signUp", cuont: 2 }),
      // @ts-expect-error: no such argument.
      inComponent.rateLimit(mutation, { name: "signUp", cuont: 2 }),
      // @ts-expect-error: a count is a number.
      inTables.rateLimit(mutation, { name: "signUp", count: "2" }),
      // @ts-expect-error: reserve is a boolean.
      inTables.rateLimit(mutation, { name: "signUp", reserve: "yes" }),
      // @ts-expect-error: nothing is consumed by a get.
      inTables.getRateLimit(mutation, { name: "signUp", count: 2 }),
      // @ts-expect-error: nothing is consumed by a reset.
      inTables.resetRateLimit(mutation, { name: "signUp", count: 2 }),
      // @ts-expect-error: a limit defined inline has no `keyed`.
      inTables.rateLimit(mutation, { name: "inline", key: "a", config: { ...config, keyed: true } }),
    ]);
  });

  it("unknown config fields do not compile, nor does a start on a token bucket", () => {
    compiled(() => [
      // @ts-expect-error: no such field.
      defineRateLimits({ a: { kind: "token bucket", rate: 1, period: MINUTE, burst: 3 } }),
      // @ts-expect-error: no such field.
      defineRateLimits({ a: { kind: "token bucket", rate: 1, period: MINUTE, burst: 3 } }, { component }),
      // @ts-expect-error: only windows start somewhere.
      defineRateLimits({ a: { kind: "token bucket", rate: 1, period: MINUTE, start: 0 } }),
      // @ts-expect-error: no such kind.
      defineRateLimits({ a: { kind: "leaky bucket", rate: 1, period: MINUTE } }),
      // @ts-expect-error: the period is missing.
      defineRateLimits({ a: { kind: "fixed window", rate: 1 } }),
      // @ts-expect-error: shards are a number or "auto".
      defineRateLimits({ a: { kind: "fixed window", rate: 1, period: MINUTE, shards: "many" } }),
      // @ts-expect-error: no such field, inline.
      inTables.rateLimit(mutation, { name: "inline", config: { ...config, burst: 3 } }),
      // @ts-expect-error: only windows start somewhere, inline.
      rateLimit(mutation, { name: "inline", config: { kind: "token bucket", rate: 1, period: MINUTE, start: 0 } }),
      defineRateLimits({ a: { kind: "fixed window", rate: 1, period: MINUTE, start: 0, shards: "auto", keyed: true } }),
    ]);
  });
});

/** What @convex-dev/workflow 0.4.8 gives the handler of a workflow. */
interface WorkflowStep {
  workflowId: string;
  runQuery<Fn extends FunctionReference<"query", FunctionVisibility>>(
    fn: Fn,
    args: FunctionArgs<Fn>,
    options?: { name?: string },
  ): Promise<FunctionReturnType<Fn>>;
  runMutation<Fn extends FunctionReference<"mutation", FunctionVisibility>>(
    fn: Fn,
    args: FunctionArgs<Fn>,
    options?: { name?: string; runAfter?: number },
  ): Promise<FunctionReturnType<Fn>>;
}

it("the step of a workflow is a ctx of limits in the component, and of no others", () => {
  const step = {} as WorkflowStep;
  type Here = Exclude<All & keyof typeof free, "scheduleRateLimited" | "cancelRateLimited">;
  expectTypeOf<Taking<WorkflowStep, typeof free>>().toEqualTypeOf<Here>();
  expectTypeOf<Taking<WorkflowStep, typeof freeInTables>>().toBeNever();
  compiled(async () => {
    const { ok, retryAt } = await free.rateLimit(step, { name: "a", config });
    expectTypeOf(ok).toEqualTypeOf<boolean>();
    expectTypeOf(retryAt).toEqualTypeOf<number | undefined>();
  });
});

describe("the answers narrow", () => {
  it("those of schedule and enqueue can be taken apart before one looks at ok", () => {
    const scheduled = { ok: false, retryAt: 1 } as ScheduleResult;
    const enqueued = { ok: false, retryAt: 1 } as EnqueueResult;
    const { ok, runAt, job } = scheduled;
    expectTypeOf(ok ? runAt : 0).toEqualTypeOf<number>();
    expectTypeOf(ok ? undefined : job).toEqualTypeOf<undefined>();
    const { retryAt, ...rest } = enqueued;
    expectTypeOf(retryAt).toEqualTypeOf<number | undefined>();
    expect([scheduled.retryAt, retryAt, rest.ok]).toEqual([1, 1, false]);
  });

  it("a status has a number to wait for when it is a denial", () => {
    const status = { ok: false, retryAt: 1, remaining: 0, resetAt: 2 } as RateLimitStatus;
    expectTypeOf(status.retryAt).toEqualTypeOf<number | undefined>();
    if (status.ok) {
      expectTypeOf(status.retryAt).toEqualTypeOf<number | undefined>();
      expect.unreachable();
    } else {
      expectTypeOf(status.retryAt).toEqualTypeOf<number>();
      expect(status.retryAt).toBe(1);
    }
    compiled(async () => {
      expectTypeOf(await inTables.rateLimit(mutation, { name: "signUp" })).toEqualTypeOf<ExactRateLimitStatus>();
      expectTypeOf(await inTables.rateLimit(mutation, { name: "hot" })).toEqualTypeOf<RateLimitStatus>();
      expectTypeOf(await inTables.rateLimit(mutation, { name: "a", config })).toEqualTypeOf<RateLimitStatus>();
      expectTypeOf(await inTables.checkRateLimit(query, { name: "hot" })).toEqualTypeOf<ExactRateLimitStatus>();
      const { statuses } = await inTables.rateLimitAll(mutation, [{ name: "signUp" }, { name: "either" }]);
      expectTypeOf(statuses).toEqualTypeOf<ExactRateLimitStatus[]>();
      const mixed = await inTables.rateLimitAll(mutation, [{ name: "signUp" }, { name: "hot" }]);
      expectTypeOf(mixed.statuses[0]?.remaining).toEqualTypeOf<number | undefined>();
    });
    expectTypeOf(inComponent.getRateLimit).returns.resolves.toEqualTypeOf<RateLimitSnapshot>();
    expectTypeOf(inComponent.resetRateLimit).returns.resolves.toEqualTypeOf<null>();
  });

  it("an unknown error becomes one with typed data", () => {
    const error: unknown = new Error("other");
    if (isRateLimitError(error)) {
      expectTypeOf(error.data).toEqualTypeOf<{
        kind: "RateLimited";
        name: string;
        key?: string;
        retryAt: number;
        retryAfter: number;
        reason?: "blocked";
      }>();
      expectTypeOf(error).toExtend<Error>();
      expect.unreachable();
    } else {
      expectTypeOf(error).toBeUnknown();
    }
  });
});

describe("the types know the plans", () => {
  const planned = defineRateLimits({
    generate: {
      kind: "fixed window",
      period: "month",
      keyed: true,
      overrides: true,
      plans: { free: { rate: 20 }, pro: { rate: 1000 } },
    },
    mixed: {
      period: MINUTE,
      queue: {},
      plans: { steady: { kind: "token bucket", rate: 6 }, strict: { kind: "sliding window", rate: 3 } },
    },
    plain: { kind: "token bucket", rate: 5, period: MINUTE },
  });
  const { enqueueRateLimited } = rateLimitQueue(planned);
  const { listRateLimits, overrideRateLimit } = rateLimitAdmin(planned);
  const send = makeFunctionReference<"mutation", Record<string, never>>("jobs:send");

  it("calls that decide name one of them", () => {
    compiled(() => [
      planned.rateLimit(mutation, { name: "generate", key: "a", plan: "pro" }),
      planned.getRateLimit(query, { name: "mixed", plan: "strict" }),
      planned.adjustRateLimit(mutation, { name: "generate", key: "a", plan: "free", count: 1 }),
      planned.resetRateLimit(mutation, { name: "generate", key: "a" }),
      planned.rateLimitAll(mutation, [{ name: "mixed", plan: "steady" }, { name: "plain" }]),
      planned.scheduleRateLimited(mutation, { name: "mixed", plan: "steady" }, send),
      enqueueRateLimited(mutation, { name: "mixed", plan: "steady" }, send),
      planned.exposeRateLimit("generate", { key: () => "a", plan: () => "pro" as const }),
      overrideRateLimit(mutation, { name: "generate", key: "a", plan: "pro", until: 1 }),
      listRateLimits(query, { name: "generate", plan: "free" }),
      // What rows were written under holds.
      planned.getRateLimit(query, { name: "mixed" }),
      planned.adjustRateLimit(mutation, { name: "generate", key: "a", count: 1 }),
      planned.exposeRateLimit("generate", { key: () => "a" }),
      listRateLimits(query, { name: "generate" }),
      // @ts-expect-error: which plan?
      planned.rateLimit(mutation, { name: "generate", key: "a" }),
      // @ts-expect-error: no such plan.
      planned.rateLimit(mutation, { name: "generate", key: "a", plan: "gold" }),
      // @ts-expect-error: a plan of another limit.
      planned.checkRateLimit(query, { name: "mixed", plan: "pro" }),
      // @ts-expect-error: a plan is a config.
      planned.rateLimit(mutation, { name: "mixed", plan: "steady", config }),
      // @ts-expect-error: the limit has no plans.
      planned.rateLimit(mutation, { name: "plain", plan: "pro" }),
      // @ts-expect-error: which plan?
      planned.rateLimitAll(mutation, [{ name: "mixed" }, { name: "plain" }]),
      // @ts-expect-error: no such plan.
      planned.getRateLimit(query, { name: "mixed", plan: "gold" }),
      // @ts-expect-error: which plan?
      planned.scheduleRateLimited(mutation, { name: "mixed" }, send),
      // @ts-expect-error: which plan?
      enqueueRateLimited(mutation, { name: "mixed" }, send),
      // @ts-expect-error: no such plan.
      planned.exposeRateLimit("generate", { key: () => "a", plan: () => "gold" }),
      // @ts-expect-error: no such plan.
      overrideRateLimit(mutation, { name: "generate", key: "a", plan: "gold" }),
      // @ts-expect-error: no such plan.
      listRateLimits(query, { name: "generate", plan: "gold" }),
    ]);
  });

  it("a plan is a whole config, together with what is shared", () => {
    compiled(() => [
      // @ts-expect-error: no rate.
      defineRateLimits({ a: { kind: "token bucket", period: MINUTE, plans: { free: {} } } }),
      // @ts-expect-error: no field of a config.
      defineRateLimits({ a: { kind: "token bucket", period: MINUTE, plans: { free: { rate: 1, burst: 3 } } } }),
      // @ts-expect-error: plans share their rows.
      defineRateLimits({ a: { kind: "token bucket", period: MINUTE, plans: { free: { rate: 1, shards: 4 } } } }),
      // @ts-expect-error: no field of a definition.
      defineRateLimits({ a: { kind: "token bucket", period: MINUTE, keyd: true, plans: { free: { rate: 1 } } } }),
    ]);
  });
});
