/** A limit as time passes: a store without a framework, which changes only when the answer does. */
import type { FunctionReference } from "convex/server";
import type { RateLimitSnapshot } from "../snapshots.js";
import { type Demand, END_OF_TIME } from "./bucket.js";
import { overrideAt, project, type ProjectedStatus } from "./project.js";
import { type ClockClient, serverClockOf, type ServerTimeMutation } from "./serverClock.js";

/** `getRateLimit` of `exposeRateLimit`, or any query of the app's own that returns a snapshot. */
export type RateLimitQuery = FunctionReference<"query", "public", { key?: string }, RateLimitSnapshot>;

export interface WatchOptions extends Demand {
  /** `getServerTime` of `exposeRateLimit`: goes by the server's clock, however wrong the browser's is. */
  getServerTime?: ServerTimeMutation | undefined;
  /**
   * Lengthens each wait at random by up to this fraction of itself, 0 to 1, default 0. So clients that wait for the same tokens
   * of a shared limit do not ask for them in the same millisecond.
   */
  jitter?: number | undefined;
  /** Called with what the query has thrown, and when `count` could never be served. Default: it is logged. */
  onError?: ((error: unknown) => void) | undefined;
}

export interface RateLimitWatch {
  /**
   * The status as of the last change, the same object until the next; undefined while it is loading, and when nobody
   * subscribes. Throws what the query throws.
   */
  status: () => ProjectedStatus | undefined;
  /** The status at this moment, for the same demand or another one, without jitter. */
  check: (demand?: Demand) => ProjectedStatus | undefined;
  /** Calls `run` with the status now and after every change, until the function that it returns is called. */
  subscribe: (run: (status: ProjectedStatus | undefined) => void) => () => void;
  /** The server's time, in milliseconds since the epoch; without `getServerTime` the browser's. */
  now: () => number;
}

/** The live result of a query, as `watchQuery` of a `ConvexReactClient` gives it. */
export interface Source {
  /** The result, the same object until it changes; undefined while it is loading. Throws what the query throws. */
  localQueryResult(): RateLimitSnapshot | undefined;
  onUpdate(onChange: () => void): () => void;
}

/** Windows shorter than this start too often to be shown one by one. */
const SHORT_MS = 1000;

/** What a status must differ in to be another one: the rest moves all the time. */
const CHANGES = ["ok", "retryAt", "remaining"] as const;

/** The limit behind a query's result. Nothing runs while nobody subscribes. */
export function watchSource(
  source: Source,
  client: ClockClient | undefined,
  { getServerTime, jitter = 0, onError, ...asked }: WatchOptions,
): RateLimitWatch {
  if (!(jitter >= 0 && jitter <= 1)) throw new Error(`jitter must be from 0 to 1, got ${jitter}.`);
  const clock = serverClockOf(client);
  const { now } = clock;
  const listeners = new Set<() => void>();
  /** The snapshot that `status` is of. */
  let seen: RateLimitSnapshot | undefined;
  let status: ProjectedStatus | undefined;
  /** The status while nothing is asked for. */
  let untouched: ProjectedStatus | undefined;
  /** What the listeners were told last. */
  let told: ProjectedStatus | undefined;
  /** A denial's `retryAt`, and the later moment that is shown in its place. */
  let dueAt = 0;
  let shownDueAt = 0;
  let stops: (() => void)[] = [];
  let stopWaiting: (() => void) | undefined;

  const current = () => (getServerTime && !clock.isKnown() ? undefined : source.localQueryResult());

  const check = (demand?: Demand) => {
    const snapshot = current();
    return snapshot && project(snapshot, { ...asked, ...demand, now: now() });
  };

  /** Brings `status` up to date, if it has changed. */
  const refresh = () => {
    seen = current();
    untouched = check({ count: 0 });
    let next = check();
    if (next && untouched) {
      const moment = now();
      // Where tokens came back before the moment that was told, there is no wait any more.
      const due = next.ok ? (moment < dueAt ? 0 : dueAt) : next.retryAt;
      if (due !== dueAt) {
        dueAt = due;
        shownDueAt = Math.floor(due + (due - moment) * jitter * Math.random());
      }
      if (moment < shownDueAt) next = { ...next, ok: false, retryAt: shownDueAt, remaining: untouched.remaining };
    }
    if (CHANGES.some((field) => next?.[field] !== status?.[field])) status = next;
  };

  const update = () => {
    stopWaiting?.();
    try {
      refresh();
      wait();
      if (status === told) return;
    } catch (error) {
      status = seen = undefined;
      onError?.(error);
    }
    told = status;
    for (const listener of [...listeners]) listener();
  };

  /** Until the status will be another one by itself: a wait ends, a window starts, the bucket is full. */
  const wait = () => {
    if (!seen || !untouched) return;
    const moment = now();
    const { until = END_OF_TIME, snapshot: bucket = seen } = overrideAt(seen, moment);
    const moments = [until];
    // A full bucket stays as it is.
    if (!(status?.ok && untouched.value >= bucket.tokens)) {
      const { resetAt = 0 } = untouched;
      const isShort = Number(bucket.config.period) < SHORT_MS;
      moments.push(status?.retryAt ?? 0, isShort ? Math.max(resetAt, moment + SHORT_MS) : resetAt);
    }
    const nextAt = Math.min(...moments.filter((each) => each > moment));
    if (nextAt < END_OF_TIME) stopWaiting = clock.wakeAt(nextAt, update);
  };

  return {
    now,
    status: () => {
      if (current() !== seen) refresh();
      return status;
    },
    check,
    subscribe: (run) => {
      const listener = () => {
        run(status);
      };
      if (listeners.size === 0) {
        stops = [source.onUpdate(update), clock.subscribe(update, getServerTime)];
        update();
      }
      listeners.add(listener);
      listener();
      return () => {
        if (!listeners.delete(listener) || listeners.size > 0) return;
        stopWaiting?.();
        for (const stop of stops) stop();
      };
    },
  };
}
