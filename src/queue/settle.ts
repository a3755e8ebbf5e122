/** Jobs that say what they have used: the difference to their count is charged or given back in the mutation that ends them, once. */
import type { FunctionHandle, GenericActionCtx, GenericDataModel } from "convex/server";
import type { ObjectType } from "convex/values";
import { adjustmentOf, parseAdjustment } from "../engine/adjustment.js";
import { parseBucket } from "../engine/request.js";
import { MAX_TOKENS } from "../engine/units.js";
import { adjust } from "../operations/adjust.js";
import { type QueueWriter, readWorker } from "./rows.js";
import { type CurrentQueue, storedQueue, type Worker } from "./start.js";
import { wake } from "./wake.js";
import type { queuedRunArgs, settleArgs } from "../wire/queue.js";

type QueuedRun = ObjectType<ReturnType<typeof queuedRunArgs>>;

/** What a job returns, if it is to be settled. */
interface Settlement {
  used: number;
}

/** What `result` says was used; undefined when it says nothing, and the job has used its count. */
function usedBy(result: unknown): number | undefined {
  const used = typeof result === "object" && result !== null ? (result as Partial<Settlement>).used : undefined;
  return typeof used === "number" && used >= 0 && used <= MAX_TOKENS ? used : undefined;
}

/** Runs a job that is a mutation: what it writes and what it settles are one transaction. */
export async function runMutation(
  ctx: QueueWriter & Pick<GenericActionCtx<GenericDataModel>, "runMutation">,
  { fn, args, ...bucket }: QueuedRun,
  functions: Worker,
  lookUp: CurrentQueue,
): Promise<null> {
  const used = usedBy(await ctx.runMutation(fn as FunctionHandle<"mutation">, args));
  return used === undefined ? null : await settle(ctx, { ...bucket, used }, functions, lookUp);
}

/** Runs a job that is an action. If it dies on the way its count stays charged: nobody knows what it has used. */
export async function runAction(
  ctx: Pick<GenericActionCtx<GenericDataModel>, "runMutation" | "runAction">,
  { fn, args, ...bucket }: QueuedRun,
  functions: Worker,
): Promise<null> {
  const used = usedBy(await ctx.runAction(fn as FunctionHandle<"action">, args));
  if (used !== undefined) await ctx.runMutation(functions.settle, { ...bucket, used });
  return null;
}

/**
 * Charges what was used beyond the count, or gives back what was not: then the jobs that wait move up. By the limit as it is now: the job
 * may have begun before a deploy.
 */
export async function settle(
  ctx: QueueWriter,
  { count, used, at, takenAt, ...bucket }: ObjectType<ReturnType<typeof settleArgs>>,
  functions: Worker,
  lookUp: CurrentQueue,
): Promise<null> {
  if (used === count) return null;
  const row = await readWorker(ctx, bucket);
  const current = lookUp(bucket) ?? (row ? storedQueue(row) : parseBucket(bucket));
  // The difference of two tokens as numbers is a little beside the number that it stands for: that of their units is exact.
  const units = parseAdjustment(current.limit, used) - parseAdjustment(current.limit, count);
  await adjust(ctx, { ...adjustmentOf(current, { count: used - count, at, takenAt }), units });
  return used < count ? await wake(ctx, bucket, functions.work) : null;
}
