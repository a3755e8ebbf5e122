/** Limits live in the app's own tables or in the component. Both answer the same questions, in the form that crosses into it. */
import type { FunctionArgs, FunctionReference, FunctionReturnType, FunctionVisibility } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import type { AdjustmentArgs } from "../engine/adjustment.js";
import type { BucketArgs, Called, CalledRequest } from "../engine/request.js";
import type { QueueReader, QueueWriter } from "../queue/rows.js";
import type { BucketId, Reader, Writer } from "../storage/rows.js";
import type { RateLimitAllStatus, RateLimitStatus } from "../wire/answers.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { Definitions } from "./definitions.js";
import type { RateLimitsOptions } from "./definitionTypes.js";

/** In your tables the app's own function continues the sweep: an internal mutation that passes its `cursor` on. */
export interface SweepContinuation {
  cursor?: string | undefined;
  next: FunctionReference<"mutation", "internal" | "public", { cursor?: string | undefined }>;
}

/** Put `...rateLimitTables` into the schema: its queries and mutations have such a ctx. */
export interface QueryCtxWithRateLimitTables extends Reader {}
/** Put `...rateLimitTables` into the schema: its mutations have such a ctx. */
export interface MutationCtxWithRateLimitTables extends Writer {}
/** Put `...rateLimitTables` and `...rateLimitQueueTables` into the schema: its queries and mutations have such a ctx. */
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

type RunOne<Type extends "mutation" | "query"> = <Fn extends FunctionReference<Type, FunctionVisibility>>(
  fn: Fn,
  args: FunctionArgs<Fn>,
) => Promise<FunctionReturnType<Fn>>;

/**
 * The contexts of limits in the component: the required part, without a data model. That of a query, mutation, action, HTTP action or
 * Workflow step fits.
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
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyDataModel = any;

export interface Place {
  /** @throws what a call of the bucket would throw before it reads. */
  check(bucket: BucketArgs): void;
  consume(ctx: Ctx, request: CalledRequest): Promise<RateLimitStatus>;
  peek(ctx: Ctx, request: CalledRequest): Promise<RateLimitStatus>;
  consumeAll(ctx: Ctx, requests: readonly CalledRequest[]): Promise<RateLimitAllStatus>;
  peekAll(ctx: Ctx, requests: readonly CalledRequest[]): Promise<RateLimitAllStatus>;
  adjust(ctx: Ctx, adjustment: Called<AdjustmentArgs>): Promise<RateLimitStatus>;
  /** Several adjustments in their order, in one transaction. */
  adjustAll(ctx: Ctx, adjustments: readonly Called<AdjustmentArgs>[]): Promise<RateLimitStatus[]>;
  get(ctx: Ctx, bucket: BucketArgs): Promise<RateLimitSnapshot>;
  pause(ctx: Ctx, pausing: Called<{ until: number }>): Promise<null>;
  reset(ctx: Ctx, bucket: BucketId): Promise<null>;
  /** Tokens may have come back to a limit with a queue: a worker that sleeps looks again. */
  wake(ctx: Ctx, bucket: BucketId, options: RateLimitsOptions): Promise<null>;
  /** Calls into the component, for what has an entry of its own; undefined in the app's tables. */
  readonly component?: ComponentCalls;
}

/** The component's functions, and how a ctx calls them. */
export interface ComponentCalls {
  readonly api: ComponentApi;
  readonly mutation: (ctx: InComponent["mutation"]) => RunOne<"mutation">;
  readonly query: (ctx: InComponent["query"]) => RunOne<"query">;
}

/** A set of limits: what the functions of every entry work on. */
export interface LimitSet {
  readonly definitions: Definitions;
  readonly place: Place;
  readonly options: RateLimitsOptions;
}
