/** convex-rate-limits/react: hooks that show a limit live, without asking the server as time passes. */
import { type ConvexReactClient, useConvex } from "convex/react";
import { getFunctionName } from "convex/server";
import { useMemo, useSyncExternalStore } from "react";
import type { WatchRateLimitOptions } from "./index.js";
import { type RateLimitQuery, type WatchResult, watchSource } from "./watch.js";

export { useCountdown, useQueuePlace, useServerNow } from "./countdown.js";
export type { QueuePlaceQuery, UseQueuePlaceOptions, UseQueuePlaceResult } from "./countdown.js";
export type { Demand, ProjectedStatus, RateLimitQuery, ServerTimeMutation } from "./index.js";

/** The options of `watchRateLimit`. Errors are thrown while rendering instead. */
export type UseRateLimitOptions = Omit<WatchRateLimitOptions, "onError">;

export interface UseRateLimitResult extends WatchResult {}

/**
 * The status of a limit. The component renders again when `ok`, `retryAt` or the whole tokens in `remaining` change because tokens
 * were taken, a wait ended, a window started, or the bucket is full, and when `limit` changes. `remaining` and `value` are
 * from that time; `check()` returns the current ones.
 *
 * The result and what is in it are the same objects until something changes. The server enforces the limit: this only shows it.
 *
 * @throws (while rendering) what the query throws, and an error for a negative `count`. A `count` that is too large is denied.
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
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [client, queryName, optionsText],
  );
  return useSyncExternalStore(watch.subscribe, watch.result, watch.loading);
}
