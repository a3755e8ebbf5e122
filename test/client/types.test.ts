/**
 * Calls that compile, and the types of their answers and of validators. `tsc -p .` checks them. At run time, only the shapes of the answers
 * are checked. Calls that do not compile are in compilerMessages.test.ts.
 */
import * as convex from "convex/server";
import { type GenericId, type Infer, v } from "convex/values";
import {
  defineRateLimits,
  isRateLimitError,
  MINUTE,
  type RateLimitAllStatus,
  type RateLimitConfig,
  type RateLimits,
  type RateLimitStatus,
  type InTables,
} from "convex-rate-limits";
import { rateLimitAdmin, type RateLimitOverride, type RateLimitPage, type SweepResult } from "convex-rate-limits/admin";
import { defineRateLimits as defineInComponent, type InComponent } from "convex-rate-limits/component";
import { apiKey, custom, limitHttp } from "convex-rate-limits/http";
import { rateLimitJobs, type RateLimitedJob, type RateLimitLease, type ScheduleResult } from "convex-rate-limits/jobs";
import { rateLimitLive, type RateLimitSnapshot } from "convex-rate-limits/live";
import { type DropReason, type EnqueueResult, rateLimitQueue } from "convex-rate-limits/queue";
import { rateLimitQueueTables } from "convex-rate-limits/queue/schema";
import * as validators from "convex-rate-limits/schema";
import { describe, expect, expectTypeOf, it } from "vitest";
import { component } from "../support/places.js";
import type { DeniedStatus, ExactRateLimitStatus } from "../../src/wire/answers.js";
import type {
  ConcurrencyConfig,
  FixedWindowConfig,
  SlidingWindowConfig,
  TokenBucketConfig,
} from "../../src/wire/configs.js";

const messages = convex.defineTable({ body: v.string() }).searchIndex("by_body", { searchField: "body" });
const meanings = convex
  .defineTable({ vector: v.array(v.number()) })
  .vectorIndex("by_vector", { vectorField: "vector", dimensions: 3 });
const tables = { ...validators.rateLimitTables, ...rateLimitQueueTables, messages, meanings };
const appSchema = convex.defineSchema(tables, { strictTableNameTypes: false });
const bareSchema = convex.defineSchema({ messages });
/** A schema whose table of that name is not ours. */
const strangeSchema = convex.defineSchema({ messages, rateLimits: convex.defineTable({ used: v.number() }) });
/** A schema whose table has our fields, but not our index. */
const fields = { name: v.string(), key: v.optional(v.string()), shard: v.number(), value: v.number(), ts: v.number() };
const unindexedSchema = convex.defineSchema({ rateLimits: convex.defineTable(fields) });

type App = convex.DataModelFromSchemaDefinition<typeof appSchema>;
type Bare = convex.DataModelFromSchemaDefinition<typeof bareSchema>;
type Strange = convex.DataModelFromSchemaDefinition<typeof strangeSchema>;
type Unindexed = convex.DataModelFromSchemaDefinition<typeof unindexedSchema>;

const bucket = { kind: "token bucket", rate: 10, period: MINUTE } as const;
const plans = { free: { rate: 20 }, pro: { rate: 1000 } } as const;
const kinds = { steady: { kind: "token bucket", rate: 6 }, strict: { kind: "sliding window", rate: 3 } } as const;
const definitions = {
  send: { ...bucket, keyed: true },
  signUp: { ...bucket, keyed: false },
  either: { kind: "fixed window", rate: 100, period: MINUTE, start: 0 },
  hot: { ...bucket, shards: "auto", mode: "shadow" },
  loud: { ...bucket, throws: true },
  spread: { ...bucket, throws: { jitter: 0.5 } },
  quiet: { ...bucket, throws: false },
  generate: { kind: "fixed window", period: "month", keyed: true, plans },
  mixed: { period: MINUTE, queue: {}, plans: kinds },
  runs: { kind: "concurrency", slots: 3, lease: MINUTE },
  seats: { kind: "concurrency", lease: MINUTE, plans: { free: { slots: 1 }, pro: { slots: 9 } } },
  both: { ...bucket, queue: { with: { signUp: 1, either: 0.5 } } },
  bothKeyed: { ...bucket, keyed: true, queue: { with: { send: 1, signUp: 1 } } },
} as const;
const config: RateLimitConfig = { kind: "token bucket", rate: 1, period: MINUTE };

const limitsInTables = defineRateLimits(definitions);
const limitsInComponent = defineInComponent(definitions, { component });
const inTables = { ...limitsInTables, ...rateLimitJobs(limitsInTables), ...rateLimitLive(limitsInTables) };
const inComponent = { ...limitsInComponent, ...rateLimitJobs(limitsInComponent), ...rateLimitLive(limitsInComponent) };
const throwingJobs = rateLimitJobs(defineInComponent(definitions, { component, throws: true }));
const throwing = defineInComponent(definitions, { component, throws: true });
const jittering = defineRateLimits(definitions, { throws: { jitter: 0.2 } });
const admin = rateLimitAdmin(inTables);
const adminOfComponent = rateLimitAdmin(inComponent);
const { enqueueRateLimited, exposeQueue } = rateLimitQueue(inTables);
const throwingQueue = rateLimitQueue(defineRateLimits(definitions, { throws: true }));
/** Limits without definitions. */
const freeInTables = { ...defineRateLimits({}), ...rateLimitJobs(defineRateLimits({})) };
const free = defineInComponent({}, { component });

/** Compiles the calls and does not make them, since a ctx exists only inside Convex. */
function compiled(_calls: () => unknown): void {
  expectTypeOf(_calls).toBeFunction();
}
/** Compares the type that a call resolves to. The call is not made. */
function typeOf<T>(call: () => Promise<T>) {
  compiled(call);
  return expectTypeOf<T>();
}
/** Compares the type of the answer's field `ok`. */
function okOf<Ok>(call: () => Promise<{ ok: Ok }>) {
  compiled(call);
  return expectTypeOf<Ok>();
}

declare const anyName: string;
declare const maybe: string | undefined;
declare const query: convex.GenericQueryCtx<App>;
declare const mutation: convex.GenericMutationCtx<App>;
declare const action: convex.GenericActionCtx<App>;
declare const bareMutation: convex.GenericMutationCtx<Bare>;
declare const bareAction: convex.GenericActionCtx<Bare>;
declare const job: RateLimitedJob;
const now = convex.makeFunctionReference<"action", Record<string, never>, null>("mail:now");
const send = convex.makeFunctionReference<"mutation", { to: string }, null>("mail:send");
const settling = convex.makeFunctionReference<"mutation", Record<string, never>, { used: number }>("mail:settling");
const hear = convex.makeFunctionReference<"mutation", { args: { to: string }; reason: DropReason }>("mail:hear");
const hearAny = convex.makeFunctionReference<"mutation">("mail:hearAny");
/** As `v.function()` gives it. */
const future = send as unknown as convex.FunctionReference_future<"mutation", "internal", { to: string }, null>;
const next = convex.makeFunctionReference<"mutation", { cursor?: string }, null>("upkeep:sweep");

/** The names of the functions that take such a ctx. */
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
  it("tables: every function takes the ctx of a mutation whose schema has the tables, and functions that read take a query's", () => {
    type Tables<Ctx> = Taking<Ctx, typeof inTables & typeof admin>;
    expectTypeOf<Tables<typeof mutation>>().toEqualTypeOf<All>();
    expectTypeOf<Tables<typeof query>>().toEqualTypeOf<Reading>();
    expectTypeOf<Tables<typeof action>>().toBeNever();
    // No function takes the ctx of a schema that lacks the table, has another table of that name, or lacks the index, or of no schema.
    expectTypeOf<Tables<convex.GenericQueryCtx<Bare> | typeof bareMutation>>().toBeNever();
    expectTypeOf<Tables<convex.GenericQueryCtx<Strange> | convex.GenericMutationCtx<Strange>>>().toBeNever();
    expectTypeOf<Tables<convex.GenericQueryCtx<Unindexed> | convex.GenericMutationCtx<Unindexed>>>().toBeNever();
    expectTypeOf<Tables<convex.GenericMutationCtx<convex.AnyDataModel>>>().toBeNever();
  });

  it("component: every function takes a mutation's ctx, all but cancelRateLimited an action's, and functions that read a query's", () => {
    type Component<Ctx> = Taking<Ctx, typeof inComponent & typeof adminOfComponent>;
    expectTypeOf<Component<typeof mutation>>().toEqualTypeOf<All>();
    expectTypeOf<Component<typeof bareMutation>>().toEqualTypeOf<All>();
    expectTypeOf<Component<convex.GenericMutationCtx<convex.AnyDataModel>>>().toEqualTypeOf<All>();
    expectTypeOf<Component<typeof action>>().toEqualTypeOf<Exclude<All, "cancelRateLimited">>();
    expectTypeOf<Component<typeof bareAction>>().toEqualTypeOf<Exclude<All, "cancelRateLimited">>();
    expectTypeOf<Component<convex.GenericQueryCtx<Bare>>>().toEqualTypeOf<Reading>();
  });

  it("the place follows from the entry, also when the component's type is unknown before codegen", () => {
    expectTypeOf(limitsInTables).toEqualTypeOf<RateLimits<typeof definitions, InTables>>();
    expectTypeOf(limitsInComponent).toEqualTypeOf<RateLimits<typeof definitions, InComponent>>();
    expectTypeOf(defineRateLimits(definitions, {})).toEqualTypeOf(limitsInTables);
    // oxlint-disable-next-line typescript/no-unsafe-assignment, typescript/no-explicit-any -- `components` is any until codegen has run.
    expectTypeOf(defineInComponent(definitions, { component: component as any })).toEqualTypeOf(limitsInComponent);
  });
});

/** compilerMessages.test.ts has calls whose optional arguments may be undefined. */
describe("the compiler accepts", () => {
  it("calls with and without a key, of jobs and sweeps, and with a config also without a definition", () => {
    compiled(() => [
      inTables.rateLimit(mutation, { name: "either", key: maybe }),
      inTables.rateLimit(mutation, { name: anyName, key: "a", config }),
      inComponent.checkRateLimit(query, { name: "inline", config }),
      inTables.rateLimitAll(mutation, [{ name: "either" }, { name: "send", key: "a", reserve: true }]),
      inTables.rateLimitAll(mutation, [] as { name: "send"; key: string }[]),
      defineRateLimits({ a: { kind: "fixed window", rate: 1, period: MINUTE, start: 0, shards: "auto", keyed: true } }),
      inTables.scheduleRateLimited(mutation, { name: "send", key: "a", spread: 10 }, send, { to: "b" }),
      inTables.scheduleRateLimited(mutation, { name: "inline", config }, now),
      inTables.scheduleRateLimited(mutation, { name: "signUp" }, future, { to: "b" }),
      inTables.cancelRateLimited(mutation, job),
      admin.sweepRateLimits(mutation, { next, cursor: "" }),
      adminOfComponent.sweepRateLimits(bareMutation, {}),
      freeInTables.checkRateLimitAll(query, [{ name: "a", key: "k", count: 2, config }]),
      freeInTables.scheduleRateLimited(mutation, { name: "a", config }, send, { to: "b" }),
      freeInTables.cancelRateLimited(mutation, job),
      free.rateLimitAll(bareAction, [{ name: "a", config }], { throws: true }),
    ]);
  });

  it("calls whose name is one of several: with the arguments that any of them requires", () => {
    const some = "send" as "send" | "either";
    const others = "signUp" as "signUp" | "either";
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- What such a function compiles to is the test.
    const guard = async <Name extends "send" | "either">(name: Name, key: string) => {
      await inTables.checkRateLimit(query, { name, key });
      await inTables.adjustRateLimit(mutation, { name, key, count: -1 });
      await inComponent.rateLimit(action, { name, key, throws: true, config });
      return (await inTables.rateLimit(mutation, { name, key, count: 2, reserve: true })).ok;
    };
    expectTypeOf(guard<"send">).returns.resolves.toBeBoolean();
    compiled(() => [
      inTables.rateLimit(mutation, { name: some, key: "a" }),
      inTables.rateLimitAll(mutation, [{ name: some, key: "a" }, { name: others }]),
    ]);
  });

  it("functions of limitHttp that name the ctx of the app's own actions", () => {
    type Ctx = typeof action;
    const known = async (ctx: Ctx) => (await ctx.auth.getUserIdentity()) !== null;
    const ofAction = async (ctx: Ctx) => (await ctx.auth.getUserIdentity())?.subject;
    const identify = async (ctx: Ctx) => ({ key: (await ofAction(ctx)) ?? "a", plan: "free" });
    const skip = async (_request: Request, ctx: Ctx) => await known(ctx);
    const by = [apiKey({ known }), custom("own", ofAction)];
    const handler = async (ctx: Ctx) => new Response(await ofAction(ctx));
    compiled(() => [
      limitHttp(limitsInComponent, { limit: "either", by, without: "deny", skip }, handler),
      limitHttp(limitsInComponent, { limit: "generate", identify }, handler),
    ]);
  });

  it("calls of a limit with plans: calls that decide name a plan, and others may", () => {
    compiled(() => [
      inTables.rateLimit(mutation, { name: "generate", key: "a", plan: "pro" }),
      inTables.getRateLimit(query, { name: "mixed", plan: "strict" }),
      inTables.adjustRateLimit(mutation, { name: "generate", key: "a", plan: "free", count: 1 }),
      inTables.resetRateLimit(mutation, { name: "generate", key: "a" }),
      inTables.rateLimitAll(mutation, [{ name: "mixed", plan: "steady" }, { name: "signUp" }]),
      inTables.scheduleRateLimited(mutation, { name: "mixed", plan: "steady" }, now),
      enqueueRateLimited(mutation, { name: "mixed", plan: "steady" }, now),
      enqueueRateLimited(mutation, { name: "both", settles: "mutation" }, settling),
      enqueueRateLimited(mutation, { name: "both", onDropped: hear, notAfter: 1 }, send, { to: "b" }),
      enqueueRateLimited(mutation, { name: "both", onDropped: hearAny }, now),
      enqueueRateLimited(mutation, { name: "mixed", plan: "steady" }, future, { to: "b" }),
      inTables.exposeRateLimit("generate", { key: () => "a", plan: () => "pro" as const }),
      // A function that names the ctx of its schema, beside one that does not.
      inTables.exposeRateLimit("generate", {
        key: async (ctx) => (await ctx.auth.getUserIdentity())?.subject ?? "a",
        plan: async (ctx: typeof query, key) =>
          (await ctx.db.query("messages").first())?.body === key ? "pro" : "free",
      }),
      exposeQueue({
        job: async (ctx: typeof query) => ((await ctx.db.query("messages").first()) ? { name: "both", id: "" } : null),
      }),
      admin.overrideRateLimit(mutation, { name: "generate", key: "a", plan: "pro", until: 1 }),
      admin.listRateLimits(query, { name: "generate", plan: "free" }),
      // Without a plan, the plan that the rows were written under applies.
      inTables.getRateLimit(query, { name: "mixed" }),
      inTables.adjustRateLimit(mutation, { name: "generate", key: "a", count: 1 }),
      inTables.exposeRateLimit("generate", { key: () => "a" }),
      admin.listRateLimits(query, { name: "generate" }),
    ]);
  });
});

describe("the answers narrow", () => {
  it("the answers of schedule and enqueue can be destructured before ok is read", () => {
    const { ok, runAt, job } = { ok: false, retryAt: 1 } as ScheduleResult;
    expectTypeOf(ok ? runAt : 0).toEqualTypeOf<number>();
    expectTypeOf(ok ? undefined : job).toEqualTypeOf<undefined>();
    const { retryAt, ...rest } = { ok: false, retryAt: 1 } as EnqueueResult;
    expectTypeOf(retryAt).toEqualTypeOf<number | undefined>();
    expect([ok, retryAt, rest.ok]).toEqual([false, 1, false]);
  });

  it("the retryAt of a status is a number if it is a denial", () => {
    const status = { ok: false, retryAt: 1, remaining: 0, resetAt: 2 } as RateLimitStatus;
    expectTypeOf(status.retryAt).toEqualTypeOf<number | undefined>();
    if (status.ok) expectTypeOf(status.retryAt).toEqualTypeOf<number | undefined>();
    else expectTypeOf(status.retryAt).toEqualTypeOf<number>();
    expect(status.retryAt).toBe(1);
  });

  it("a job has the type of its validator and fits into a document, as do a page, a sweep's result and a snapshot", () => {
    expectTypeOf<Infer<typeof validators.vRateLimitedJob>>().toEqualTypeOf<RateLimitedJob>();
    expectTypeOf<RateLimitedJob["id"]>().toEqualTypeOf<GenericId<"_scheduled_functions">>();
    expectTypeOf(admin.listRateLimits).returns.resolves.toEqualTypeOf<RateLimitPage>();
    expectTypeOf(admin.sweepRateLimits).returns.resolves.toEqualTypeOf<SweepResult>();
    expectTypeOf<Infer<typeof validators.vRateLimitPage>>().toEqualTypeOf<RateLimitPage>();
    expectTypeOf<Infer<typeof validators.vSweepResult>>().toEqualTypeOf<SweepResult>();
    expectTypeOf(inComponent.getRateLimit).returns.resolves.toEqualTypeOf<RateLimitSnapshot>();
    expectTypeOf(inComponent.resetRateLimit).returns.resolves.toEqualTypeOf<null>();
  });

  it("an unknown error becomes one with typed data", () => {
    const error: unknown = new Error("other");
    if (isRateLimitError(error)) {
      type Times = { retryAt: number; retryAfter: number };
      type Data = Times & { kind: "RateLimited"; name: string; key?: string; reason?: "blocked" | "too large" };
      expectTypeOf<Fields<typeof error.data>>().toEqualTypeOf<Fields<Data>>();
      expectTypeOf(error).toExtend<Error>();
      expect.unreachable();
    } else {
      expectTypeOf(error).toBeUnknown();
    }
  });
});

type Allowed<Status> = Extract<Status, { ok: true }>;
type Several = RateLimitAllStatus<ExactRateLimitStatus>;
declare const flag: boolean;
declare const loudOrSpread: "loud" | "spread";
declare const loudOrQuiet: "loud" | "quiet";

describe("the types know which answers have a lease", () => {
  type Leased = { lease: RateLimitLease };

  it("those that allow, of calls that take slots", () => {
    typeOf(() => inTables.rateLimit(mutation, { name: "runs" })).toEqualTypeOf<
      (Allowed<ExactRateLimitStatus> & Leased) | Exclude<ExactRateLimitStatus, { ok: true }>
    >();
    const seats = () => inTables.rateLimit(mutation, { name: "seats", plan: "pro", throws: true });
    typeOf(seats).toEqualTypeOf<Allowed<ExactRateLimitStatus> & Leased>();
    const all = () => inTables.rateLimitAll(mutation, [{ name: "runs" }], { throws: true });
    typeOf(async () => (await all()).statuses).toEqualTypeOf<
      ((Allowed<ExactRateLimitStatus> & Leased) | Exclude<ExactRateLimitStatus, { ok: true }>)[]
    >();
    typeOf(() => inTables.checkRateLimit(query, { name: "runs" })).toEqualTypeOf<ExactRateLimitStatus>();
  });

  it("a stored lease is one that can be released", () => {
    expectTypeOf<Infer<typeof validators.vRateLimitLease>>().toExtend<RateLimitLease>();
    expectTypeOf<RateLimitLease>().toExtend<Infer<typeof validators.vRateLimitLease>>();
  });
});

describe("the types know whether a denial is returned", () => {
  it("by the call, the definition and the options: the nearest decides", () => {
    typeOf(() => inTables.rateLimit(mutation, { name: "signUp" })).toEqualTypeOf<ExactRateLimitStatus>();
    typeOf(() => inTables.rateLimit(mutation, { name: "signUp", throws: true })).toEqualTypeOf<
      Allowed<ExactRateLimitStatus>
    >();
    okOf(() => inTables.rateLimit(mutation, { name: "signUp", throws: { jitter: 1 } })).toEqualTypeOf<true>();
    okOf(() => inTables.rateLimit(mutation, { name: "signUp", throws: flag })).toEqualTypeOf<boolean>();
    okOf(() => inTables.rateLimit(mutation, { name: "loud" })).toEqualTypeOf<true>();
    okOf(() => inTables.checkRateLimit(query, { name: "spread" })).toEqualTypeOf<true>();
    okOf(() => inTables.rateLimit(mutation, { name: "loud", throws: false })).toEqualTypeOf<boolean>();
    okOf(() => throwing.rateLimit(mutation, { name: "signUp" })).toEqualTypeOf<true>();
    okOf(() => throwing.rateLimit(mutation, { name: "quiet" })).toEqualTypeOf<boolean>();
    okOf(() => throwing.rateLimit(mutation, { name: "signUp", throws: false })).toEqualTypeOf<boolean>();
    okOf(() => jittering.checkRateLimit(query, { name: "signUp" })).toEqualTypeOf<true>();
    typeOf(() => throwing.rateLimit(mutation, { name: "a", config })).toEqualTypeOf<Allowed<RateLimitStatus>>();
    typeOf(() => throwing.rateLimit(mutation, { name: "hot" })).toEqualTypeOf<Allowed<RateLimitStatus>>();
  });

  it("by each name if there are several", () => {
    okOf(() => inTables.rateLimit(mutation, { name: loudOrSpread })).toEqualTypeOf<true>();
    typeOf(() => inTables.rateLimit(mutation, { name: loudOrQuiet })).toEqualTypeOf<ExactRateLimitStatus>();
    const [loud, spread, either] = [{ name: "loud" }, { name: "spread" }, { name: "either" }] as const;
    okOf(() => inTables.rateLimitAll(mutation, [loud, spread])).toEqualTypeOf<true>();
    typeOf(() => inTables.rateLimitAll(mutation, [loud, either])).toEqualTypeOf<Several>();
    okOf(() => throwing.checkRateLimitAll(query, [either])).toEqualTypeOf<true>();
    typeOf(() => throwing.rateLimitAll(mutation, [either], { throws: false })).toEqualTypeOf<Several>();
  });

  it("for a job", () => {
    typeOf(() => inTables.scheduleRateLimited(mutation, { name: "signUp" }, now)).toEqualTypeOf<ScheduleResult>();
    typeOf(() => throwingJobs.scheduleRateLimited(mutation, { name: "signUp" }, now)).toEqualTypeOf<
      Allowed<ScheduleResult>
    >();
    const queued = { name: "both" } as const;
    typeOf(() => throwingQueue.enqueueRateLimited(mutation, queued, now)).toEqualTypeOf<Allowed<EnqueueResult>>();
    const returned = { ...queued, throws: false } as const;
    typeOf(() => throwingQueue.enqueueRateLimited(mutation, returned, now)).toEqualTypeOf<EnqueueResult>();
  });
});

describe("the types know the fields of an answer", () => {
  it("remaining is known if the limit is one row", () => {
    typeOf(() => inTables.rateLimit(mutation, { name: "hot" })).toEqualTypeOf<RateLimitStatus>();
    typeOf(() => inTables.rateLimit(mutation, { name: "a", config })).toEqualTypeOf<RateLimitStatus>();
    typeOf(() => inTables.checkRateLimit(query, { name: "hot" })).toEqualTypeOf<RateLimitStatus>();
    typeOf(() => inTables.checkRateLimit(query, { name: "signUp" })).toEqualTypeOf<ExactRateLimitStatus>();
    typeOf(async () => {
      const { statuses } = await inTables.rateLimitAll(mutation, [{ name: "signUp" }, { name: "hot" }]);
      return statuses[0]?.remaining;
    }).toEqualTypeOf<number | undefined>();
  });

  it("takenAt is known if the call is refundable", () => {
    const name = "signUp";
    const call = { name, throws: true } as const;
    typeOf(
      async () => (await inTables.rateLimit(mutation, { ...call, refundable: true })).takenAt,
    ).toEqualTypeOf<number>();
    typeOf(async () => (await inTables.rateLimit(mutation, { ...call, refundable: flag })).takenAt).toEqualTypeOf<
      number | undefined
    >();
    typeOf(async () => (await inTables.rateLimit(mutation, call)).takenAt).toEqualTypeOf<number | undefined>();
    typeOf(async () => {
      const status = await inTables.rateLimit(mutation, { name, refundable: true });
      return status.ok ? status.takenAt : status.retryAt;
    }).toEqualTypeOf<number>();
  });

  it("an answer that may be a denial can be taken apart, and its ok still tells what the rest is", () => {
    typeOf(async () => {
      const { ok, lease, takenAt, row, shadow } = await inTables.rateLimit(mutation, { name: "runs" });
      return ok ? lease : [takenAt, row, shadow];
    }).toEqualTypeOf<RateLimitLease | undefined[]>();
    typeOf(async () => {
      const { reason, shadow } = await inTables.rateLimit(mutation, { name: "signUp" });
      return reason ?? shadow?.reason;
    }).toEqualTypeOf<DeniedStatus["reason"]>();
  });
});

/** The fields that T may have, as one type, whether they were written in one interface or several. */
type Fields<T> = { [Field in keyof T as T[Field] extends undefined ? never : Field]: T[Field] };
type InferredConfig<Kind> = Fields<Extract<Infer<typeof validators.vRateLimitConfig>, { kind: Kind }>>;
type InferredStatus<Ok> = Fields<Extract<Infer<typeof validators.vRateLimitStatus>, { ok: Ok }>>;
type InferredAll<Ok> = Fields<Extract<Infer<typeof validators.vRateLimitAllStatus>, { ok: Ok }>>;

/** The types that are written by hand, for their hover text. */
describe("the validator infers the type of", () => {
  it("each kind's config", () => {
    expectTypeOf<Fields<TokenBucketConfig>>().toEqualTypeOf<InferredConfig<"token bucket">>();
    expectTypeOf<Fields<FixedWindowConfig>>().toEqualTypeOf<InferredConfig<"fixed window">>();
    // The type alone has `capacity?: undefined`, so that its absence can be asked of any config.
    expectTypeOf<Fields<Omit<SlidingWindowConfig, "capacity">>>().toEqualTypeOf<InferredConfig<"sliding window">>();
    expectTypeOf<RateLimitConfig["kind"]>().toEqualTypeOf<Infer<typeof validators.vRateLimitConfig>["kind"]>();
    // The type alone has the fields that slots never have.
    type Own = Pick<ConcurrencyConfig, "kind" | "slots" | "lease">;
    expectTypeOf<Fields<Own>>().toEqualTypeOf<InferredConfig<"concurrency">>();
    expect(validators.vRateLimitConfig.members).toHaveLength(4);
  });

  it("an override", () => {
    type Inferred = Infer<typeof validators.vRateLimitOverride>;
    expectTypeOf<Inferred>().toExtend<RateLimitOverride>();
    const fields = validators.vRateLimitOverride.members.map((way) => Object.keys(way.fields).join(" "));
    const ways = ["config", "more", "block", "unlimited"];
    expect(fields).toEqual(ways.map((way) => `${way} until note`));
  });

  it("each status", () => {
    type Own = Fields<Extract<RateLimitStatus, { ok: true }>>;
    expectTypeOf<Omit<Own, "shadow">>().toEqualTypeOf<Omit<InferredStatus<true>, "shadow">>();
    expectTypeOf<Own["shadow"]>().toExtend<InferredStatus<true>["shadow"]>();
    expectTypeOf<InferredStatus<true>["shadow"]>().toExtend<Own["shadow"]>();
    expectTypeOf<Fields<Extract<RateLimitStatus, { ok: false }>>>().toEqualTypeOf<InferredStatus<false>>();
    expect(validators.vRateLimitStatus.members).toHaveLength(2);
  });

  it("the status of several limits", () => {
    type Without<T> = Omit<T, "statuses">;
    type Own<Ok> = Extract<RateLimitAllStatus, { ok: Ok }>;
    expectTypeOf<Fields<Without<Own<true>>>>().toEqualTypeOf<Fields<Without<InferredAll<true>>>>();
    expectTypeOf<Fields<Without<Own<false>>>>().toEqualTypeOf<Fields<Without<InferredAll<false>>>>();
    expectTypeOf<Own<true>["statuses"]>().toExtend<InferredAll<true>["statuses"]>();
    expectTypeOf<InferredAll<true>["statuses"]>().toExtend<Own<true>["statuses"]>();
    expect(validators.vRateLimitAllStatus.members).toHaveLength(2);
  });

  it("a snapshot", () => {
    type Own = "config" | "override";
    type Inferred = Infer<typeof validators.vRateLimitSnapshot>;
    expectTypeOf<Omit<RateLimitSnapshot, Own>>().toEqualTypeOf<Omit<Inferred, Own>>();
    expectTypeOf<Inferred>().toExtend<RateLimitSnapshot>();
    const known =
      "name config value ts tokens unitsPerToken capacity mostReserved least lastStart lastsMs windowsFrom restMs fullAt runs parts few used plan pausedUntil until reason unlimited mode override";
    expect(Object.keys(validators.vRateLimitSnapshot.fields)).toEqual(known.split(" "));
  });
});
