/** React hooks: a limit, live, without asking the server whenever time passes. */
import { type ConvexReactClient, useConvex } from "convex/react";
import { getFunctionName } from "convex/server";
import { useMemo, useSyncExternalStore } from "react";
import type { Demand, ProjectedStatus, WatchRateLimitOptions } from "../browser/index.js";
import { type RateLimitQuery, watchSource } from "../browser/watch.js";

export { useCountdown, useServerNow } from "./countdown.js";
export type { Demand, ProjectedStatus, RateLimitQuery, ServerTimeMutation } from "../browser/index.js";

/** The options of `watchRateLimit`. Errors are thrown while rendering instead. */
export type UseRateLimitOptions = Omit<WatchRateLimitOptions, "onError">;

export interface UseRateLimitResult {
  /** The answer as of the last render that it has caused; undefined while loading, when skipped, and on the server. */
  status: ProjectedStatus | undefined;
  /** The answer at this moment, for the same demand or another one; undefined as long as `status` is. */
  check: (demand?: Demand) => ProjectedStatus | undefined;
}

/**
 * The status of a limit, which renders again when `ok`, `retryAt` or the whole tokens that remain change for a reason: somebody
 * took tokens, a wait ended, a window started, the bucket is full. `remaining` and `value` are as of then; `check()` has them as
 * of now.
 *
 * The result and what is in it are the same objects until something changes. The limit itself is held by the server: this
 * only shows it.
 *
 * @throws (while rendering) what the query throws, and an error for a negative `count`. A `count` that is too large is denied.
 */
export function useRateLimit(query: RateLimitQuery, options: UseRateLimitOptions | "skip" = {}): UseRateLimitResult {
  const client = useConvex() as ConvexReactClient | undefined;
  if (!client) throw new Error("useRateLimit needs a ConvexProvider.");
  const watch = useMemo(
    () => {
      const source = options === "skip" ? undefined : client.watchQuery(query, { key: options.key });
      return watchSource(source, client, options as UseRateLimitOptions);
    },
    // A reference from `api` is a new object each time; its name is not.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [client, getFunctionName(query), JSON.stringify(options)],
  );
  return useSyncExternalStore(watch.subscribe, watch.result, watch.loading);
}
