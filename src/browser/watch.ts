/** A limit as time passes: a store without a framework, which changes only when the answer does. */
import type { FunctionReference } from "convex/server";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import { type Demand, END_OF_TIME } from "./bucket.js";
import { look, type ProjectedStatus } from "./project.js";
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

/** What a watch says: the same object until its status changes. */
interface WatchResult extends Pick<RateLimitWatch, "check"> {
  status: ProjectedStatus | undefined;
}

/** A watch with one listener, which is told of more than changes: what `useSyncExternalStore` takes. */
type SourceWatch = [
  subscribe: (onChange: () => void) => () => void,
  /** After an error it throws that. */
  result: () => WatchResult,
  /** What it says before anything is known. */
  loading: () => WatchResult,
];

/** The live result of a query, as `watchQuery` of a `ConvexReactClient` gives it. */
export interface Source {
  /** The result, the same object until it changes; undefined while it is loading. Throws what the query throws. */
  localQueryResult(): RateLimitSnapshot | undefined;
  /** Gives a function that gives the result up, if that is to be called. */
  onUpdate: (onChange: () => void) => (() => void) | undefined;
}

/** The limit behind a query's result, for one listener at a time. Nothing runs while nobody subscribes. */
export function watchSource(
  source: Source | undefined,
  client: ClockClient,
  { getServerTime, jitter = 0, ...asked }: WatchOptions,
): SourceWatch {
  if (!(jitter >= 0 && jitter <= 1)) throw new Error(`jitter must be from 0 to 1, got ${jitter}.`);
  const [now, run, isKnown] = serverClockOf(client);
  /** The snapshot that `result` is of; undefined after an error. */
  let seen: RateLimitSnapshot | undefined;
  /** A denial's `retryAt`, and the later moment that is shown in its place. */
  let shownDueAt = 0;
  let dueAt = 0;
  /** What a status must differ in to be another one: the rest moves all the time. */
  let lastTold: string | undefined;

  const current = () => (getServerTime && !isKnown() ? undefined : source?.localQueryResult());

  const check = (demand?: Demand) => {
    const snapshot = current();
    return snapshot && look(snapshot, { ...asked, ...demand, now: now() })[0];
  };

  const resultOf = (status?: ProjectedStatus): WatchResult => ({ status, check });
  const loading = resultOf();
  let result = loading;

  /** Brings `result` up to date, if its status has changed, and says when that will be another one by itself. */
  const refresh = () => {
    seen = undefined;
    const snapshot = current();
    const moment = now();
    let next: ProjectedStatus | undefined;
    let changesAt = END_OF_TIME;
    if (snapshot) {
      [next, changesAt] = look(snapshot, { ...asked, now: moment });
      // Where tokens came back before the moment that was told, there is no wait any more.
      const due = next.ok ? (moment < dueAt ? 0 : dueAt) : next.retryAt;
      if (due !== dueAt) {
        dueAt = due;
        shownDueAt = Math.min(END_OF_TIME, Math.floor(due + (due - moment) * jitter * Math.random()));
      }
      if (moment < shownDueAt) {
        [next, changesAt] = look(snapshot, { count: 0, now: moment });
        next = { ...next, ok: false, retryAt: shownDueAt };
        changesAt = Math.min(changesAt, shownDueAt);
      }
    }
    seen = snapshot;
    const told = next && [next.retryAt, next.remaining, next.ok].join();
    if (told !== lastTold) result = resultOf(next);
    lastTold = told;
    return changesAt;
  };

  return [
    (onChange) =>
      run(
        () => {
          let changesAt = END_OF_TIME;
          try {
            changesAt = refresh();
          } catch {
            // `result` throws it again.
          }
          onChange();
          return changesAt;
        },
        getServerTime,
        source?.onUpdate,
      ),
    () => {
      if (current() !== seen) refresh();
      return result;
    },
    () => loading,
  ];
}
