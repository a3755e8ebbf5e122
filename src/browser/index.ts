/** A limit, live, in a client of any framework: a store on `ConvexClient`. */
import type { ConvexClient } from "convex/browser";
import { type RateLimitQuery, type RateLimitWatch, type Source, type WatchOptions, watchSource } from "./watch.js";

export type { ServerTimeMutation } from "./serverClock.js";
export type { Demand } from "./bucket.js";
export { project, type ProjectedStatus } from "./project.js";
export type { RateLimitQuery, RateLimitWatch } from "./watch.js";

export interface WatchRateLimitOptions extends WatchOptions {
  /** The key that the client asks for, where the server's key function uses it. */
  key?: string | undefined;
}

/**
 * Watches a limit: a store whose status changes when somebody took or gave back tokens, a wait ended, a window started, or the
 * bucket is full. It asks the server for nothing while nobody subscribes, nor as time passes.
 *
 * The object keeps the contract of Svelte's stores. The limit itself is held by the server: this only shows it.
 *
 * @param query - `getRateLimit` of `exposeRateLimit`, or any query that returns a snapshot.
 * @throws when `jitter` is not from 0 to 1.
 * @example
 * ```ts
 * import { ConvexClient } from "convex/browser";
 * import { type RateLimitQuery, watchRateLimit } from "convex-rate-limits/client";
 *
 * function disableWhileLimited(button: HTMLButtonElement, client: ConvexClient, query: RateLimitQuery) {
 *   const limit = watchRateLimit(client, query);
 *   return limit.subscribe((status) => {
 *     button.disabled = !status?.ok;
 *   });
 * }
 * ```
 */
export function watchRateLimit(
  client: ConvexClient,
  query: RateLimitQuery,
  { key, onError = console.error, ...options }: WatchRateLimitOptions = {},
): RateLimitWatch {
  return watchSource(liveResult(client, query, { key }), client, { ...options, onError });
}

function liveResult(client: ConvexClient, query: RateLimitQuery, args: { key?: string | undefined }): Source {
  let read: Source["localQueryResult"] | undefined;
  return {
    localQueryResult: () => read?.(),
    onUpdate: (onChange) => {
      // `localQueryResult` reads the result; with a second listener the client does not throw by itself.
      const stop = client.onUpdate(query, args, onChange, onChange);
      read = () => stop.getCurrentValue();
      return () => {
        read = undefined;
        stop();
      };
    },
  };
}
