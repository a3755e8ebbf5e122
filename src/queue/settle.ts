/** Jobs that say what they have used: the difference to their count is charged or given back in the mutation that ends them, once. */
import type { FunctionHandle, GenericActionCtx, GenericDataModel } from "convex/server";
import type { ObjectType } from "convex/values";
import { adjustmentOf, parseAdjustment } from "../engine/adjustment.js";
import { parseBucket } from "../engine/request.js";
import { fieldError, misuseError } from "../engine/misuse.js";
import { MAX_TOKENS } from "../engine/units.js";
import { adjust } from "../operations/adjust.js";
import { FURTHEST_MS } from "../engine/time.js";
import { idOf } from "../storage/rows.js";
import { type Class, insertJobAgain, type QueueWriter, readRounds, type WorkerRow } from "./rows.js";
import { readWorker } from "./workerRows.js";
import { ensureRunning, type OwnCtx, type QueueCtx, storedQueue, type Worker } from "./start.js";
import { parseQueue, type Queue } from "./terms.js";
import { wake } from "./wake.js";
import type { queuedRunArgs, settleArgs } from "../wire/queue.js";

type QueuedRun = ObjectType<ReturnType<typeof queuedRunArgs>>;
type Settling = ObjectType<ReturnType<typeof settleArgs>>;

/** The result of a job that is to be settled. */
interface Settlement {
  used: number;
  again: boolean | { after: number };
}

/** How to settle a job that has returned `result`; undefined when it says nothing, and the job has used its count. */
function settlementOf(result: unknown, run: QueuedRun, settles: "mutation" | "action"): Settling | undefined {
  const said = typeof result === "object" && result !== null ? (result as Partial<Settlement>) : {};
  const { fn, args, turn, ...bucket } = run;
  const wait = waitOf(bucket.name, said.again);
  // A job that must run again has done nothing yet, unless it says so.
  const { used = wait === undefined ? undefined : 0 } = said;
  if (!(typeof used === "number" && used >= 0 && used <= MAX_TOKENS)) return undefined;
  if (wait === undefined) return { ...bucket, used };
  if (!turn) {
    console.error(
      misuseError(bucket.name, "a queued job asked to run again, which needs queue.attempts: it is dropped."),
    );
    return { ...bucket, used };
  }
  const notBefore = wait > 0 && { notBefore: Date.now() + wait };
  return { ...bucket, used, again: { turn, settles, fn, args, ...notBefore } };
}

/** After how many ms a job must run again; undefined if it need not. An invalid value is logged: the job has run. */
function waitOf(name: string, again: unknown): number | undefined {
  if (again === undefined || again === false) return undefined;
  if (again === true) return 0;
  const after = typeof again === "object" && again !== null ? (again as { after?: unknown }).after : undefined;
  if (typeof after === "number" && after >= 0 && after <= FURTHEST_MS) return after;
  console.error(fieldError(name, "again", `true, or { after } with 0 to ${FURTHEST_MS} milliseconds`, again));
  return undefined;
}

/** Runs a job that is a mutation: what it writes and what it settles are one transaction. */
export async function runMutation(
  ctx: OwnCtx & Pick<GenericActionCtx<GenericDataModel>, "runMutation">,
  run: QueuedRun,
): Promise<null> {
  const result: unknown = await ctx.runMutation(run.fn as FunctionHandle<"mutation">, run.args);
  const settlement = settlementOf(result, run, "mutation");
  return settlement ? await settle(ctx, settlement) : null;
}

/** Runs a job that is an action. If it dies on the way its count stays charged: nobody knows what it has used. */
export async function runAction(
  ctx: Pick<GenericActionCtx<GenericDataModel>, "runMutation" | "runAction">,
  run: QueuedRun,
  { work }: Worker,
): Promise<null> {
  const result: unknown = await ctx.runAction(run.fn as FunctionHandle<"action">, run.args);
  const settlement = settlementOf(result, run, "action");
  if (settlement) await ctx.runMutation(work, { settlement });
  return null;
}

/**
 * Charges what was used beyond the count, or gives back what was not: then the jobs that wait move up. By the limit as it is now: the job
 * may have begun before a deploy.
 */
export async function settle(ctx: OwnCtx, settling: Settling): Promise<null> {
  const { count, used, at, takenAt, again, ...bucket } = settling;
  if (used === count && !again) return null;
  const row = await readWorker(ctx, bucket);
  const queue =
    ctx.lookUp(row ?? bucket) ?? (row ? storedQueue(row) : again && parseQueue({ ...bucket, queue: again.turn.queue }));
  if (used !== count) {
    const charged = queue ?? parseBucket(bucket);
    // The difference of two tokens as numbers is a little beside the number that it stands for: that of their units is exact.
    const units = parseAdjustment(charged.limit, used) - parseAdjustment(charged.limit, count);
    await adjust(ctx, { ...adjustmentOf(charged, { count: used - count, at, takenAt }), units });
  }
  if (again && queue) await waitAgain(ctx, { ...settling, again }, { queue, row });
  return used < count ? await wake(ctx, bucket, ctx.worker.work) : null;
}

/** Puts a job back into the place it had, now or later, unless it has run as often as it may. */
async function waitAgain(
  ctx: QueueCtx,
  settling: Settling & { again: NonNullable<Settling["again"]> },
  { queue, row }: { queue: Queue; row: WorkerRow | null },
): Promise<void> {
  const { count, again } = settling;
  const { turn, settles, fn, args, notBefore } = again;
  const { name, key, terms } = queue;
  if (turn.runs >= terms.attempts) {
    console.error(misuseError(name, `a queued job has run ${turn.runs} times (queue.attempts): it is dropped.`));
    return;
  }
  if (notBefore !== undefined) {
    // Its use is settled by then.
    const later = { ...settling, used: count, again: { turn, settles, fn, args } };
    await ctx.scheduler.runAt(notBefore, ctx.worker.work, { settlement: later });
    return;
  }
  const { at, priority, fairBy, round, runs, first } = turn;
  const inRound = round !== undefined && { round: await roundOf(ctx, { name, key, priority }, round) };
  const user = fairBy !== undefined && { fairBy };
  const job = { ...idOf({ name, key }), at, priority, ...user, ...inRound, count, fn, args, settles, runs, first };
  await insertJobAgain(ctx, job);
  const queued = terms.exact && row?.queued !== undefined ? row.queued + 1 : undefined;
  await ensureRunning(ctx, queue, row, Date.now(), queued);
}

/** Rounds that are over do not come back: jobs that came in the meantime would get into them, before others that wait. */
async function roundOf(ctx: QueueWriter, of: Class, round: number): Promise<number> {
  const [first] = await readRounds(ctx, of, 1);
  return Math.max(round, first?.round ?? round);
}
