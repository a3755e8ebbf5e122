/** Calls into the component, from the ctx of whatever function of the app makes them. */
import type { GenericActionCtx, GenericDataModel } from "convex/server";
import { show } from "../engine/misuse.js";
import type { Bucket } from "../engine/request.js";
import type { BucketId } from "../storage/rows.js";
import { inTurn } from "../storage/turns.js";

type Caller = GenericActionCtx<GenericDataModel>;

/** From a mutation the calls take turns with what cancelling writes in the caller's own database. */
export function mutation(ctx: Pick<Caller, "runMutation">): Caller["runMutation"] {
  checkCaller(ctx, "runMutation", "a mutation or action");
  return (...call) => inTurn(ctx, () => ctx.runMutation(...call));
}

/** From a mutation these take turns, too: they see what the calls before them have written. */
export function query(ctx: Pick<Caller, "runQuery">): Caller["runQuery"] {
  checkCaller(ctx, "runQuery", "a query, mutation or action");
  return (...call) => ("runMutation" in ctx ? inTurn(ctx, () => ctx.runQuery(...call)) : ctx.runQuery(...call));
}

export function bucketArgs({ limit: { name, config }, key, isOverridable }: Bucket) {
  return { ...idArgs({ name, key }), config, ...(isOverridable && { overrides: true }) };
}

/** An absent key stays absent: undefined is no value on the wire. */
export function idArgs({ name, key }: BucketId): BucketId {
  return key === undefined ? { name } : { name, key };
}

function checkCaller(ctx: unknown, method: string, whose: string): void {
  if (typeof ctx === "object" && ctx !== null && typeof (ctx as Record<string, unknown>)[method] === "function") return;
  throw new Error(`Rate limits in the component need the ctx of ${whose}, got ${show(ctx)} without ${method}.`);
}
