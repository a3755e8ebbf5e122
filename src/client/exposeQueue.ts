/** A queue as a public query, for pages that show where a job stands. */
import { type GenericDataModel, type GenericQueryCtx, queryGeneric, type RegisteredQuery } from "convex/server";
import { v } from "convex/values";
import { checkFields, type Fields, required } from "../engine/fields.js";
import { type RateLimitQueuedJob, type RateLimitQueuePosition, vRateLimitQueuePosition } from "../queue/wire.js";

/** The server's function from the caller, and the id of a job that the client asks for, to that job; null to show nothing. */
export type ExposedJob<DataModel extends GenericDataModel = GenericDataModel> = (
  ctx: GenericQueryCtx<DataModel>,
  requested: string,
) => RateLimitQueuedJob | null | Promise<RateLimitQueuedJob | null>;

/** The public query of a queue. */
export interface ExposedQueue {
  getQueued: RegisteredQuery<"public", { job: string }, Promise<RateLimitQueuePosition | null>>;
}

const FIELDS: Fields = {
  job: required({
    permitted: "a function from ctx and an id to the job",
    holds: (value) => typeof value === "function",
  }),
};

// The data model of whichever app registers the function: its own functions were typed with it.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type AnyDataModel = any;

export function exposeQueue(
  args: { job: ExposedJob<AnyDataModel> },
  get: (ctx: unknown, job: RateLimitQueuedJob) => Promise<RateLimitQueuePosition | null>,
): ExposedQueue {
  checkFields("exposeQueue", "the options", args, FIELDS);
  return {
    getQueued: queryGeneric({
      args: { job: v.string() },
      returns: v.union(vRateLimitQueuePosition, v.null()),
      handler: async (ctx: GenericQueryCtx<AnyDataModel>, { job: requested }: { job: string }) => {
        const job = await args.job(ctx, requested);
        return job && (await get(ctx, job));
      },
    }),
  };
}
