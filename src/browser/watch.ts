/** A limit as time passes: a store without a framework, which changes only when the answer does. */
import type { FunctionReference } from "convex/server";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import { type Demand, END_OF_TIME } from "./bucket.js";
import { type LimitInForce, type ProjectedStatus, projectUntilChange } from "./project.js";
import { type ClockClient, serverClockOf, type ServerTimeMutation } from "./serverClock.js";

/** `getRateLimit` of `exposeRateLimit`, or any query of the app's own that returns a snapshot. */
export type RateLimitQuery = FunctionReference<"query", "public", { key?: string }, RateLimitSnapshot>;

export interface WatchOptions extends Demand {
  /** `getServerTime` of `exposeRateLimit`: the watch uses the server's clock, however wrong the browser's is. */
  getServerTime?: ServerTimeMutation | undefined;
}

/** The content of a watch: the same object until its status changes. */
export interface WatchResult {
  /** The answer at the last change; undefined while loading, when skipped, and on the server. */
  status: ProjectedStatus | undefined;
  /**
   * The `config` and the `plan` in force, and the `tokens` of a full bucket; undefined as long as `status` is. To show
   * "73 of 100 used", ask for `count: 0`: then `limit.tokens - status.remaining` are used of `limit.tokens`.
   */
  limit: LimitInForce | undefined;
  /** The answer now, for the same demand or another one; undefined as long as `status` is. */
  check: (demand?: Demand) => ProjectedStatus | undefined;
}

/** The live result of a query, as `watchQuery` of a `ConvexReactClient` gives it. */
export interface Source {
  /** The result, the same object until it changes; undefined while it is loading. Throws what the query throws. */
  localQueryResult(): RateLimitSnapshot | undefined;
  /** Returns a function that stops the updates, unless the source ends in another way. */
  onUpdate: (onChange: () => void) => (() => void) | undefined;
}

/**
 * The limit behind a query's result, for one listener, which is called for more than changes: what
 * `useSyncExternalStore` takes. Nothing runs while nobody subscribes.
 */
export function watchSource(
  source: Source | undefined,
  client: ClockClient,
  { getServerTime, ...demand }: WatchOptions,
) {
  const { now, schedule, isKnown } = serverClockOf(client);
  /** The snapshot behind `result`. */
  let snapshot: RateLimitSnapshot | undefined;
  /** The fields whose change makes another status; the others change all the time. */
  let digest: string | undefined;

  const current = () => (getServerTime && !isKnown() ? undefined : source?.localQueryResult());
  const project = (other?: Demand) => {
    const latest = current();
    return latest && projectUntilChange(latest, { ...demand, ...other, now: now() });
  };
  const check = (other?: Demand) => project(other)?.status;

  const loading: WatchResult = { status: undefined, limit: undefined, check };
  let result = loading;

  /** Updates `result` if its status has changed, and returns when time alone changes it next. */
  const refresh = () => {
    const { status, bucket, changesAt = END_OF_TIME } = project() ?? {};
    // If that throws, `result` throws it again.
    snapshot = current();
    const limit = bucket && { config: bucket.config, tokens: bucket.tokens, plan: bucket.plan };
    // All of a status but what changes all the time.
    const nextDigest = status && JSON.stringify([{ ...status, value: 0, resetAt: 0 }, limit]);
    if (nextDigest !== digest) result = { status, limit, check };
    digest = nextDigest;
    return changesAt;
  };

  return {
    subscribe: (onChange: () => void) =>
      schedule(
        () => {
          let changesAt = END_OF_TIME;
          try {
            changesAt = refresh();
          } catch {
            // So does `result`.
          }
          onChange();
          return changesAt;
        },
        getServerTime,
        source?.onUpdate,
      ),
    /** @throws what the query throws. */
    result: () => {
      if (current() !== snapshot) refresh();
      return result;
    },
    /** The result before anything is known. */
    loading: () => loading,
  };
}
