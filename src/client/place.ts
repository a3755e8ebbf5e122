/**
 * Limits live in the app's own tables or in the component. Both answer the same questions, in the form that crosses
 * into it.
 */
import type { FunctionArgs, FunctionReference, FunctionReturnType, FunctionVisibility } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import { needError } from "../engine/misuse.js";
import type { BucketArgs, RequestArgs } from "../engine/request.js";
import type { QueueReader, QueueWriter } from "../queue/tables.js";
import { type BucketId, idOf, type Reader, type Writer } from "../storage/rows.js";
import type { AdjustmentArgs, RateLimitAllStatus, RateLimitLease, RateLimitStatus } from "../wire/answers.js";
import type { QueueTerms } from "../wire/configs.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { Definitions } from "./definitions.js";
import type { RateLimitsOptions, ThrowChoice } from "./definitionTypes.js";
import { queueTermsOf } from "./plans.js";

/** In your tables the app's own function continues the sweep: an internal mutation that passes its `cursor` on. */
export interface SweepContinuation {
  cursor?: string | undefined;
  next: FunctionReference<"mutation", "internal" | "public", { cursor?: string | undefined }>;
}

/** Put `...rateLimitTables` into the schema: its queries and mutations have such a ctx. */
export interface QueryCtxWithRateLimitTables extends Reader {}
/** Put `...rateLimitTables` into the schema: its mutations have such a ctx. */
export interface MutationCtxWithRateLimitTables extends Writer {}
/**
 * Put `...rateLimitTables` and `...rateLimitQueueTables` into the schema: its queries and mutations have such a ctx.
 */
export interface QueryCtxWithRateLimitQueue extends QueueReader {}
/** Put `...rateLimitTables` and `...rateLimitQueueTables` into the schema: its mutations have such a ctx. */
export interface MutationCtxWithRateLimitQueue extends QueueWriter {}

/** The contexts of limits in your tables: a database that has the `rateLimits` table. */
export interface InTables {
  query: QueryCtxWithRateLimitTables;
  mutation: MutationCtxWithRateLimitTables;
  sweep: SweepContinuation;
  queueQuery: QueryCtxWithRateLimitQueue;
  queueMutation: MutationCtxWithRateLimitQueue;
}

/** @typeParam First - what stands before the function and its arguments. */
type RunOne<Type extends "mutation" | "query", First extends unknown[] = []> = <
  Fn extends FunctionReference<Type, FunctionVisibility>,
>(
  ...call: [...First, fn: Fn, args: FunctionArgs<Fn>]
) => Promise<FunctionReturnType<Fn>>;

/**
 * The contexts of limits in the component: the required part, without a data model. That of a query, mutation, action,
 * HTTP action or Workflow step fits.
 */
export interface InComponent {
  query: { runQuery: RunOne<"query"> };
  mutation: { runMutation: RunOne<"mutation"> };
  /** The component continues by itself, so both are ignored. */
  sweep: Partial<SweepContinuation>;
  queueQuery: InComponent["query"];
  queueMutation: InComponent["mutation"];
}

/** The ctx of either place, as the functions below the typed ones have it. */
export type Ctx = InTables["queueMutation"] & InComponent["mutation"] & InComponent["query"];
// The data model of whichever app registers the functions: its own functions were typed with it.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyDataModel = any;

export interface Place {
  consume(ctx: Ctx, request: RequestArgs): Promise<RateLimitStatus>;
  peek(ctx: Ctx, request: RequestArgs): Promise<RateLimitStatus>;
  consumeAll(ctx: Ctx, requests: readonly RequestArgs[]): Promise<RateLimitAllStatus>;
  peekAll(ctx: Ctx, requests: readonly RequestArgs[]): Promise<RateLimitAllStatus>;
  /** Adjusts buckets in their order, in one transaction. */
  adjust(ctx: Ctx, adjustments: readonly (BucketArgs & AdjustmentArgs)[]): Promise<RateLimitStatus[]>;
  release(ctx: Ctx, lease: RateLimitLease): Promise<null>;
  get(ctx: Ctx, bucket: BucketArgs): Promise<RateLimitSnapshot>;
  pause(ctx: Ctx, pausing: BucketId & { until: number }): Promise<null>;
  reset(ctx: Ctx, bucket: BucketId): Promise<null>;
  /** A limit with a queue has changed, or tokens have come back to it: a worker that sleeps looks again. */
  wake(ctx: Ctx, bucket: BucketId, terms: QueueTerms, options: RateLimitsOptions): Promise<null>;
  /** Calls into the component, for what has an entry of its own; undefined in the app's tables. */
  readonly component?: ComponentCalls;
}

export interface ComponentCalls {
  readonly api: ComponentApi;
  readonly mutation: RunOne<"mutation", [ctx: InComponent["mutation"]]>;
  readonly query: RunOne<"query", [ctx: InComponent["query"]]>;
}

/**
 * A set of limits: what the functions of every entry work on, and find in the object that `defineRateLimits` returned.
 */
export interface LimitSet {
  readonly definitions: Definitions;
  readonly place: Place;
  readonly options: RateLimitsOptions;
}

/**
 * Under this the functions of a set of limits carry the set. Registered, since two bundles may each hold a copy of this
 * module.
 */
export const LIMIT_SET: unique symbol = Symbol.for("convex-rate-limits");

/** The object that `defineRateLimits` returned, as `rateLimitQueue`, `rateLimitAdmin` and `limitHttp` take it. */
export interface DefinedRateLimits {
  readonly [LIMIT_SET]: object;
}

/**
 * The types that a set of limits was defined with. Read from the set as a whole, so that a call may stand inside
 * another.
 */
export type TypesOf<Set extends DefinedRateLimits> = Set[typeof LIMIT_SET] extends {
  readonly types?: infer Types extends {
    limits: unknown;
    contexts: InTables | InComponent;
    throws: ThrowChoice;
  };
}
  ? Types
  : never;

/** @throws when it is something else: single functions, say. */
export function setOf(limits: unknown, call: string): LimitSet {
  const set = (limits as { [LIMIT_SET]?: LimitSet } | null | undefined)?.[LIMIT_SET];
  if (set) return set;
  throw needError(call, "the object that defineRateLimits returned", limits);
}

/**
 * After a change of a bucket: jobs that wait in its queue, or in one that also takes from it, may be paid earlier.
 * Their workers learn the terms.
 */
export async function wakeQueue({ definitions, place, options }: LimitSet, ctx: Ctx, bucket: BucketId): Promise<void> {
  for (const name of [bucket.name, ...definitions.queuesWith(bucket.name)]) {
    const terms = queueTermsOf(definitions, name);
    if (terms) await place.wake(ctx, { ...idOf(bucket), name }, terms, options);
  }
}
