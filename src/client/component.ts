/** Calls into the component, from the ctx of whatever function of the app makes them. */
import type { GenericActionCtx, GenericDataModel } from "convex/server";
import { show } from "../engine/misuse.js";
import type { Bucket } from "../engine/request.js";
import { idOf, inTurn } from "../storage/rows.js";

type Caller = GenericActionCtx<GenericDataModel>;

export function mutation(ctx: Pick<Caller, "runMutation">): Caller["runMutation"] {
  checkCaller(ctx, "runMutation", "a mutation or action");
  return (...call) => inOrder(ctx, () => ctx.runMutation(...call));
}

export function query(ctx: Pick<Caller, "runQuery">): Caller["runQuery"] {
  checkCaller(ctx, "runQuery", "a query, mutation or action");
  return (...call) => inOrder(ctx, () => ctx.runQuery(...call));
}

/**
 * In a mutation the calls take turns, among themselves and with what cancelling writes in the caller's own database: each sees what
 * those before it have written. An action has no database, and a query writes nothing.
 */
function inOrder<Result>(ctx: object, call: () => Promise<Result>): Promise<Result> {
  return "db" in ctx && "runMutation" in ctx ? inTurn(ctx, call) : call();
}

export function bucketArgs(bucket: Bucket) {
  const { config } = bucket.limit;
  return { ...idOf(bucket), config, ...(bucket.isOverridable && { overrides: true }) };
}

function checkCaller(ctx: unknown, method: string, whose: string): void {
  if (typeof ctx === "object" && ctx !== null && typeof (ctx as Record<string, unknown>)[method] === "function") return;
  throw new Error(`Rate limits in the component need the ctx of ${whose}, got ${show(ctx)} without ${method}.`);
}
