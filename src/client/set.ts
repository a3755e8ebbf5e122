/** From the object that `defineRateLimits` returns to the limits themselves: what the functions of other entries work on. */
import { show } from "../engine/misuse.js";
import type { BucketId } from "../storage/rows.js";
import type { ThrowChoice } from "./definitionTypes.js";
import type { Ctx, InComponent, InTables, LimitSet } from "./place.js";

/** Under this the functions of a set of limits carry the set. Registered, since two bundles may each hold a copy of this module. */
export const LIMIT_SET: unique symbol = Symbol.for("convex-rate-limits");

/** The object that `defineRateLimits` returned, as `rateLimitQueue`, `rateLimitAdmin` and `limitHttp` take it. */
export interface DefinedRateLimits {
  readonly [LIMIT_SET]: object;
}

/** The same, with the types of its limits. */
export interface TypedRateLimits<
  Limits,
  Contexts extends InTables | InComponent,
  Default extends ThrowChoice | undefined,
> extends DefinedRateLimits {
  readonly [LIMIT_SET]: LimitSet & { readonly types?: { limits: Limits; contexts: Contexts; throws: Default } };
}

/** The types that a set of limits was defined with. Read from the set as a whole, so that a call may stand inside another. */
export type TypesOf<Set extends DefinedRateLimits> = Set[typeof LIMIT_SET] extends {
  readonly types?: infer Types extends {
    limits: unknown;
    contexts: InTables | InComponent;
    throws: ThrowChoice | undefined;
  };
}
  ? Types
  : never;

/** @throws when it is something else: single functions, say. */
export function setOf(limits: unknown, call: string): LimitSet {
  const set = (limits as { [LIMIT_SET]?: LimitSet } | null | undefined)?.[LIMIT_SET];
  if (set) return set;
  throw new Error(`${call} needs the object that defineRateLimits returned, got ${show(limits)}.`);
}

/** After tokens have come back to a bucket: jobs that wait in its queue, if it has one, may be paid earlier. */
export async function wakeQueue({ definitions, place, options }: LimitSet, ctx: Ctx, bucket: BucketId): Promise<void> {
  if (definitions.get(bucket.name)?.queue) await place.wake(ctx, bucket, options);
}
