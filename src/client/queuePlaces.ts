/** Queues in the two places: the same questions to the app's own tables, and to the component. */
import type { GenericActionCtx, GenericDataModel } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import * as joining from "../queue/enqueue.js";
import type { QueuedArgs } from "../queue/job.js";
import * as position from "../queue/position.js";
import type { QueueReader, QueueWriter } from "../queue/rows.js";
import { wake, type Worker } from "../queue/start.js";
import { type Queue, toQueueConfig } from "../queue/terms.js";
import type { CancelQueuedResult, EnqueueResult, RateLimitQueuePosition } from "../queue/wire.js";
import { type BucketId, idOf, readingInTurn, takingTurns } from "../storage/rows.js";
import { mutation, query } from "./component.js";

export interface QueuePlace<QueryCtx, MutationCtx> {
  /** @param functions - of the worker; undefined where the place has its own. */
  enqueue(
    ctx: MutationCtx,
    queue: Queue,
    job: () => Promise<QueuedArgs>,
    functions: () => Worker,
  ): Promise<EnqueueResult>;
  cancel(ctx: MutationCtx, queue: Queue, id: string, functions: () => Worker): Promise<CancelQueuedResult>;
  get(ctx: QueryCtx, queue: Queue, id: string): Promise<RateLimitQueuePosition | null>;
  wake(ctx: MutationCtx, bucket: BucketId, functions: () => Worker): Promise<null>;
}

export const queuesInTables: QueuePlace<QueueReader, QueueWriter> = {
  enqueue: takingTurns(async (ctx, queue, job, functions) => joining.enqueue(ctx, queue, await job(), functions())),
  cancel: takingTurns((ctx, queue, id, functions) => joining.cancel(ctx, queue, id, functions())),
  get: readingInTurn(position.get),
  wake: takingTurns((ctx, bucket, functions) => wake(ctx, bucket, functions())),
};

type Caller = GenericActionCtx<GenericDataModel>;

export function queuesInComponent(
  api: ComponentApi["queue"],
): QueuePlace<Pick<Caller, "runQuery">, Pick<Caller, "runMutation">> {
  return {
    enqueue: async (ctx, queue, job) => {
      const run = mutation(ctx);
      return await run(api.enqueue, { ...queueArgs(queue), ...(await job()) });
    },
    cancel: async (ctx, queue, id) => await mutation(ctx)(api.cancel, { ...queueArgs(queue), id }),
    get: async (ctx, queue, id) => await query(ctx)(api.get, { ...queueArgs(queue), id }),
    wake: async (ctx, bucket) => await mutation(ctx)(api.wake, idOf(bucket)),
  };
}

function queueArgs({ limit: { name, config }, key, terms }: Queue) {
  return { ...idOf({ name, key }), config, queue: toQueueConfig(terms) };
}
