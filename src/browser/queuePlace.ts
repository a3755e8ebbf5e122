/** The hook for a job that waits in a queue. */
import { useQuery } from "convex/react";
import type { FunctionReference } from "convex/server";
import { useMemo } from "react";
import { useCountdown } from "./countdown.js";
import type { ServerTimeMutation } from "./serverClock.js";

/** The answer of `getQueued` of `exposeQueue`. */
interface QueuePosition {
  ahead: number;
  isExact: boolean;
  runAt: number;
}

/** `getQueued` of `exposeQueue`, or any query of the app's own with that argument and result. */
export type QueuePlaceQuery = FunctionReference<"query", "public", { job: string }, QueuePosition | null>;

export interface UseQueuePlaceOptions {
  /** `getServerTime` of `exposeRateLimit`: the hook uses the server's clock, however wrong the browser's is. */
  getServerTime?: ServerTimeMutation | undefined;
}

/**
 * - `ahead`: the jobs that go first, counted up to 200.
 * - `isExact`: false for a job that is further back; `ahead`, `runAt` and `seconds` are then the least.
 * - `runAt`: when the job starts if nothing comes before it and nothing is cancelled, in milliseconds since the epoch.
 * - `seconds`: whole seconds until `runAt`, rounded up; 0 if that time has passed.
 */
export interface UseQueuePlaceResult extends QueuePosition {
  seconds: number;
}

/**
 * The place of a job in its queue. The component renders again when the place changes, and once a second.
 *
 * @param job - the id that the query takes; undefined asks nothing.
 * @returns null if the job no longer waits; undefined while loading, without a job, and on the server.
 * @throws (while rendering) what the query throws.
 */
export function useQueuePlace(
  query: QueuePlaceQuery,
  job: string | undefined,
  { getServerTime }: UseQueuePlaceOptions = {},
): UseQueuePlaceResult | null | undefined {
  const position = useQuery(query, job === undefined ? "skip" : { job });
  const seconds = useCountdown(position?.runAt, getServerTime);
  return useMemo(() => position && (seconds === undefined ? undefined : { ...position, seconds }), [position, seconds]);
}
