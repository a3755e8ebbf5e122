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

/** A watch with one listener, which is told of more than changes. After an error `status` throws it. */
interface SourceWatch extends Pick<RateLimitWatch, "status" | "check"> {
  subscribe: (onChange: () => void) => () => void;
}

/** The live result of a query, as `watchQuery` of a `ConvexReactClient` gives it. */
export interface Source {
  /** The result, the same object until it changes; undefined while it is loading. Throws what the query throws. */
  localQueryResult(): RateLimitSnapshot | undefined;
  onUpdate: (onChange: () => void) => () => void;
}

/** What a status must differ in to be another one: the rest moves all the time. */
const CHANGES = ["ok", "retryAt", "remaining"] as const;

/** The limit behind a query's result, for one listener at a time. Nothing runs while nobody subscribes. */
export function watchSource(
  source: Source | undefined,
  client: ClockClient,
  { getServerTime, jitter = 0, ...asked }: WatchOptions,
): SourceWatch {
  if (!(jitter >= 0 && jitter <= 1)) throw new Error(`jitter must be from 0 to 1, got ${jitter}.`);
  /** Windows shorter than this start too often to be shown one by one. */
  const SHORT_MS = 1000;
  const clock = serverClockOf(client);
  const { now } = clock;
  /** The snapshot that `status` is of; undefined after an error. */
  let seen: RateLimitSnapshot | undefined;
  let status: ProjectedStatus | undefined;
  /** A denial's `retryAt`, and the later moment that is shown in its place. */
  let dueAt = 0;
  let shownDueAt = 0;

  const current = () => (getServerTime && !clock.isKnown() ? undefined : source?.localQueryResult());

  /** Brings `status` up to date, if it has changed, and says when it will be another one by itself. */
  const refresh = () => {
    const snapshot = current();
    let next: ProjectedStatus | undefined;
    let moments = [END_OF_TIME];
    const moment = now();
    if (snapshot) {
      const ask = (demand: Demand) => project(snapshot, { ...demand, now: moment });
      next = ask(asked);
      // Where tokens came back before the moment that was told, there is no wait any more.
      const due = next.ok ? (moment < dueAt ? 0 : dueAt) : next.retryAt;
      if (due !== dueAt) {
        dueAt = due;
        shownDueAt = Math.min(END_OF_TIME, Math.floor(due + (due - moment) * jitter * Math.random()));
      }
      if (moment < shownDueAt) next = { ...ask({ count: 0 }), ok: false, retryAt: shownDueAt };
      const { until = END_OF_TIME, snapshot: bucket = snapshot } = overrideAt(snapshot, moment);
      const { fullAt, config } = bucket;
      // A full bucket stays as it is.
      moments =
        next.ok && moment >= fullAt
          ? [until]
          : [
              until,
              fullAt,
              next.retryAt ?? 0,
              Math.max(next.resetAt ?? 0, Number(config.period) < SHORT_MS ? moment + SHORT_MS : 0),
            ];
    }
    seen = snapshot;
    if (CHANGES.some((field) => next?.[field] !== status?.[field])) status = next;
    return Math.min(...moments.filter((each) => each > moment));
  };

  return {
    status: () => {
      if (current() !== seen) refresh();
      return status;
    },
    check: (demand) => {
      const snapshot = current();
      return snapshot && project(snapshot, { ...asked, ...demand, now: now() });
    },
    subscribe: (onChange) =>
      clock.run(
        () => {
          let changesAt = END_OF_TIME;
          try {
            changesAt = refresh();
          } catch {
            seen = undefined;
          }
          onChange();
          return changesAt;
        },
        getServerTime,
        source?.onUpdate,
      ),
  };
}
