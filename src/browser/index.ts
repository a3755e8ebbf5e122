/** A limit, live, in a client of any framework: a store on `ConvexClient`. */
import type { ConvexClient } from "convex/browser";
import type { LimitInForce, ProjectedStatus } from "./project.js";
import { serverClockOf } from "./serverClock.js";
import { type RateLimitQuery, type Source, type WatchOptions, type WatchResult, watchSource } from "./watch.js";

export type { ServerTimeMutation } from "./serverClock.js";
export type { Demand } from "./bucket.js";
export { type ProjectedStatus, projectRateLimit, type RateLimitUsage, usageOf } from "./project.js";
export type { RateLimitQuery } from "./watch.js";

export interface WatchRateLimitOptions extends WatchOptions {
  /** The key that the client asks for, where the server's key function uses it. */
  key?: string | undefined;
  /** Called with what the query or a subscriber throws. Default: the error is logged. */
  onError?: ((error: unknown) => void) | undefined;
}

export interface RateLimitWatch extends Pick<WatchResult, "check"> {
  /**
   * The status at the last change, the same object until the next; undefined while it is loading, and when nobody
   * subscribes. Throws what the query throws.
   */
  status: () => ProjectedStatus | undefined;
  /** The terms behind the status: the config and the plan in force, and the tokens of a full bucket. */
  limit: () => LimitInForce | undefined;
  /** Calls `run` with the status now and after every change, until the function that it returns is called. */
  subscribe: (run: (status: ProjectedStatus | undefined) => void) => () => void;
  /** The server's time, in milliseconds since the epoch; without `getServerTime` the browser's. */
  now: () => number;
}

/**
 * Watches a limit: a store whose status changes when tokens were taken or given back, a wait ended, a window started,
 * or the bucket is full. It asks the server nothing while nobody subscribes, and nothing as time passes.
 *
 * The object follows the contract of Svelte's stores. The server enforces the limit: this only shows it.
 *
 * @param query - `getRateLimit` of `exposeRateLimit`, or any query that returns a snapshot.
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
  { key, onError = console.error, getServerTime, ...options }: WatchRateLimitOptions = {},
): RateLimitWatch {
  const source = liveResult(client, query, key);
  const { subscribe, result, loading } = watchSource(source, client, {
    ...options,
    // A client for server rendering accepts no calls.
    getServerTime: client.disabled ? undefined : getServerTime,
  });
  const listeners = new Set<() => void>();
  let status: ProjectedStatus | undefined;
  let failure: string | undefined;
  let stop: () => void;

  const update = () => {
    let next: ProjectedStatus | undefined;
    try {
      next = result().status;
      failure = undefined;
    } catch (error) {
      if (String(error) !== failure) setTimeout(onError, 0, error);
      failure = String(error);
    }
    if (next === status) return;
    status = next;
    for (const listener of [...listeners]) listener();
  };

  return {
    status: () => result().status,
    limit: () => result().limit,
    check: loading().check,
    now: serverClockOf(client).now,
    subscribe: (run) => {
      const listener = () => {
        try {
          // Another subscriber may have ended this one.
          if (listeners.has(listener)) run(status);
        } catch (error) {
          // It must stop neither the others nor the watch, even if `onError` throws as well.
          setTimeout(onError, 0, error);
        }
      };
      if (listeners.size === 0) stop = subscribe(update);
      listeners.add(listener);
      listener();
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) {
          stop();
          source.end();
        }
      };
    },
  };
}

/** The live result of a query, until `end`, which stops it at once. */
function liveResult(client: ConvexClient, query: RateLimitQuery, key?: string): Source & { end: () => void } {
  let live: ReturnType<typeof client.onUpdate<RateLimitQuery>> | undefined;
  return {
    localQueryResult: () => live?.getCurrentValue(),
    onUpdate: (onChange) => {
      // `localQueryResult` reads the result. With an error listener the client does not throw by itself.
      live = client.onUpdate(query, { key }, onChange, onChange);
      return undefined;
    },
    end: () => {
      live?.();
      live = undefined;
    },
  };
}
