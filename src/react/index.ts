/** React hooks: a limit, live, without asking the server whenever time passes. */
import { useConvex, useQuery } from "convex/react";
import { type FunctionReference, getFunctionName, makeFunctionReference } from "convex/server";
import { useCallback, useEffect, useMemo, useSyncExternalStore } from "react";
import { type Demand, LiveStatus } from "./liveStatus.js";
import { serverClockOf, type ServerTimeMutation } from "./serverClock.js";
import type { RateLimitSnapshot, RateLimitStatus } from "../validators.js";

export type { ServerTimeMutation } from "./serverClock.js";

/** `getRateLimit` of `exposeRateLimit`, or any query of the app's own that returns a snapshot. */
export type RateLimitQuery = FunctionReference<"query", "public", { key?: string }, RateLimitSnapshot>;

export interface UseRateLimitOptions {
  /** The key that the client wishes for, where the server's key function looks at it. */
  key?: string | undefined;
  /** Tokens to ask about, default 1. */
  count?: number | undefined;
  /** Whether to ask about a reservation: then `status.retryAt` is when the work would run. */
  reserve?: boolean | undefined;
  /** `getServerTime` of `exposeRateLimit`: goes by the server's clock, however wrong the browser's is. */
  getServerTime?: ServerTimeMutation | undefined;
}

export interface UseRateLimitResult {
  /** The answer as of the last render that it has caused; undefined while loading, when skipped, and on the server. */
  status: RateLimitStatus | undefined;
  /** The answer at this moment, for the same demand or another one; undefined as long as `status` is. */
  check: (demand?: { count?: number; reserve?: boolean }) => RateLimitStatus | undefined;
}

/**
 * The status of a limit, which renders again when the answer changes: someone took tokens, a wait ended, a window started, the
 * bucket is full. `remaining` is as of then; `check()` has it as of now.
 *
 * The result and what is in it are the same objects until something changes. The limit itself is held by the server: this
 * only shows it.
 *
 * @throws (while rendering) when the query does, and when `count` could never be served.
 */
export function useRateLimit(query: RateLimitQuery, options: UseRateLimitOptions | "skip" = {}): UseRateLimitResult {
  const { key, count, reserve, getServerTime }: UseRateLimitOptions = options === "skip" ? {} : options;
  const snapshot = useQuery(query, options === "skip" ? "skip" : key === undefined ? {} : { key });
  const clock = serverClockOf(useConvex());

  // A reference from `api` is a new object each time; its name is not.
  const serverTime = getServerTime && getFunctionName(getServerTime);
  useEffect(
    () => (serverTime === undefined ? undefined : clock.keepMeasured(makeFunctionReference(serverTime))),
    [clock, serverTime],
  );

  const live = useMemo(
    () => snapshot && new LiveStatus(snapshot, { count, reserve }, clock, serverTime !== undefined),
    [snapshot, count, reserve, clock, serverTime],
  );
  const status = useSyncExternalStore(live?.subscribe ?? never, live?.status ?? nothing, nothing);
  const check = useCallback((demand: Demand = {}) => live?.status() && live.check(demand), [live]);
  return useMemo(() => ({ status, check }), [status, check]);
}

/**
 * A function that tells the server's time, in milliseconds since the epoch; the same function in every render. For displays
 * that move between two renders of `useRateLimit`, such as a gauge: they decide for themselves how often to look.
 *
 * The clock is the one that `useRateLimit` measures with `getServerTime`; until then, and without, it is the browser's.
 */
export function useServerNow(): () => number {
  const clock = serverClockOf(useConvex());
  return useCallback(() => clock.now(), [clock]);
}

/**
 * Whole seconds until a moment of the server's clock, rounded up, and 0 from then on; for `status.retryAt`. Renders once a
 * second. Undefined without a moment, and on the server.
 *
 * The clock is the one that `useRateLimit` measures with `getServerTime`, wherever on the page that is.
 */
export function useCountdown(moment: number | undefined): number | undefined {
  const clock = serverClockOf(useConvex());
  const seconds = useCallback(
    () => (moment === undefined ? undefined : Math.max(0, Math.ceil((moment - clock.now()) / 1000))),
    [clock, moment],
  );
  const subscribe = useCallback(
    (onChange: () => void) => {
      let stopWaiting: (() => void) | undefined;
      const update = () => {
        stopWaiting?.();
        const left = seconds();
        onChange();
        if (moment === undefined || !left) return;
        stopWaiting = clock.wakeAt(moment - (left - 1) * 1000, update);
      };
      const stopListening = clock.subscribe(update);
      update();
      return () => {
        stopListening();
        stopWaiting?.();
      };
    },
    [clock, moment, seconds],
  );
  return useSyncExternalStore(subscribe, seconds, nothing);
}

function never(): () => void {
  return nothing;
}

function nothing(): undefined {
  return undefined;
}
