/** convex-rate-limits/react: hooks that show a limit live, without asking the server as time passes. */
import { type ConvexReactClient, useConvex, useQuery } from "convex/react";
import { type FunctionReference, getFunctionName } from "convex/server";
import { useCallback, useMemo, useSyncExternalStore } from "react";
import type { RateLimitQueuePosition } from "../wire/queue.js";
import { END_OF_TIME } from "./bucket.js";
import type { WatchRateLimitOptions } from "./index.js";
import { type ClockClient, serverClockOf, type ServerTimeMutation } from "./serverClock.js";
import { type RateLimitQuery, type WatchOptions, type WatchResult, watchSource } from "./watch.js";

export type { Demand, ProjectedStatus, RateLimitQuery, ServerTimeMutation } from "./index.js";

/** The options of `watchRateLimit`. Errors are thrown while rendering instead. */
export type UseRateLimitOptions = Omit<WatchRateLimitOptions, "onError">;

export interface UseRateLimitResult extends WatchResult {}

/**
 * The status of a limit. The component renders again when `ok`, `retryAt`, `limit` or the whole tokens in `remaining`
 * change: tokens were taken, a wait ended, a window started, or the bucket is full. `remaining` and `value` are from
 * that time; `check()` returns the current ones.
 *
 * The result and what is in it are the same objects until something changes. The server enforces the limit: this only
 * shows it.
 *
 * @throws (while rendering) what the query throws, and an error for a negative `count`. A `count` that is too large is
 * denied.
 */
export function useRateLimit(query: RateLimitQuery, options: UseRateLimitOptions | "skip" = {}): UseRateLimitResult {
  const client = useConvex() as ConvexReactClient | undefined;
  if (!client) throw new Error("useRateLimit needs a ConvexProvider.");
  // A reference from `api` is a new object each time; its name is not.
  const queryName = getFunctionName(query);
  const optionsText = JSON.stringify(options);
  const watch = useMemo(
    () => {
      const source = options === "skip" ? undefined : client.watchQuery(query, { key: options.key });
      return watchSource(source, client, options as UseRateLimitOptions);
    },
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [client, queryName, optionsText],
  );
  return useSyncExternalStore(watch.subscribe, watch.result, watch.loading);
}

/**
 * A function that returns the server's time, in milliseconds since the epoch; the same function in every render. It is
 * for displays that move between two renders of `useRateLimit`, such as a gauge: they decide how often to call it.
 *
 * It uses the clock that `useRateLimit` measures with `getServerTime`, and before or without a measurement that of the
 * browser.
 */
export function useServerNow(): () => number {
  const client = useConvex() as ConvexReactClient | undefined;
  return serverClockOf(client ?? NO_CLIENT).now;
}

/**
 * Whole seconds until a time of the server's clock, rounded up, and 0 from then on; for `status.retryAt`. Renders once
 * a second. Infinity if no wait helps; undefined without a time, on the server, and until `getServerTime` has answered.
 *
 * Without `getServerTime` the clock is the one that another hook on the page measures, else the browser's.
 *
 * @throws (while rendering) an error for `getServerTime` without a ConvexProvider.
 */
export function useCountdown(time: number | undefined, getServerTime?: ServerTimeMutation): number | undefined {
  const client = useConvex() as ConvexReactClient | undefined;
  if (getServerTime && !client) throw new Error("useCountdown needs a ConvexProvider for getServerTime.");
  const clock = serverClockOf(client ?? NO_CLIENT);
  const clockName = getServerTime && getFunctionName(getServerTime);
  const end = time === END_OF_TIME ? Infinity : time;
  const seconds = useCallback(() => {
    if (end === undefined || (clockName && !clock.isKnown())) return undefined;
    return Math.max(0, Math.ceil((end - clock.now()) / 1000));
  }, [clock, end, clockName]);
  const subscribe = useCallback(
    (onChange: () => void) =>
      clock.schedule(() => {
        onChange();
        const rest = seconds();
        return end && rest ? end - (rest - 1) * 1000 : END_OF_TIME;
      }, getServerTime),
    // `seconds` is a new function for another client, time or clock.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [seconds],
  );
  return useSyncExternalStore(subscribe, seconds, () => undefined);
}

/** Without a provider, the browser's own clock is used: nobody asks this client for the server's time. */
const NO_CLIENT = {} as ClockClient;

/** `getQueued` of `exposeQueue`, or any query of the app's own with that argument and result. */
export type QueuePlaceQuery = FunctionReference<"query", "public", { job: string }, RateLimitQueuePosition | null>;

export interface UseQueuePlaceOptions extends Pick<WatchOptions, "getServerTime"> {}

/**
 * A place in a queue. `seconds`: whole seconds until `startsAt`, rounded up; 0 if that time has passed. It is absent
 * without `startsAt`.
 */
export type UseQueuePlaceResult = RateLimitQueuePosition & { seconds?: number };

/**
 * The place of a job in its queue. The component renders again when the place changes, and once a second.
 *
 * @param job - the id that the query takes; undefined asks nothing.
 * @returns null if the job no longer waits and starts within a second; undefined while loading, without a job, and on
 * the server.
 * @throws (while rendering) what the query throws.
 */
export function useQueuePlace(
  query: QueuePlaceQuery,
  job: string | undefined,
  { getServerTime }: UseQueuePlaceOptions = {},
): UseQueuePlaceResult | null | undefined {
  const position = useQuery(query, job === undefined ? "skip" : { job });
  const seconds = useCountdown(position?.startsAt, getServerTime);
  return useMemo(() => {
    if (position?.startsAt === undefined) return position;
    return seconds === undefined ? undefined : { ...position, seconds };
  }, [position, seconds]);
}
