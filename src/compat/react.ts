/** convex-rate-limits/compat/react: the hook of `@convex-dev/rate-limiter/react`, on the server's clock. */
import { useConvex, useQuery } from "convex/react";
import { type FunctionReference, getFunctionName } from "convex/server";
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { END_OF_TIME } from "../browser/bucket.js";
import type { ProjectedStatus, ServerTimeMutation } from "../browser/react.js";
import { serverClockOf } from "../browser/serverClock.js";
import { watchSource } from "../browser/watch.js";
import type { HookArgs } from "./hookApi.js";
import { calculateRateLimit, type GetValueReturns, snapshotFrom } from "./official.js";

/** `getRateLimit` of `hookAPI`, or a query of the app's own that returns what `getValue` returns. */
export type GetRateLimitValueQuery = FunctionReference<"query", "public", HookArgs, GetValueReturns>;
/** `getServerTime` of `hookAPI`. */
export type GetServerTimeMutation = ServerTimeMutation;

export interface UseRateLimitOptions {
  /** The key that the client asks for, if the server's key function reads it. */
  key?: string;
  /** Tokens to ask about, default 1. */
  count?: number;
  /** Accepted and ignored: a limit's value is that of all its shards. */
  sampleShards?: number;
  /** `getServerTime` of `hookAPI`: the hook uses the server's clock, however wrong the browser's is. */
  getServerTimeMutation?: GetServerTimeMutation;
}

/** A bucket at a time of the browser's clock; times in milliseconds since the epoch. */
export interface CheckedRateLimit extends GetValueReturns {
  ok: boolean;
  retryAt: number | undefined;
}

export interface UseRateLimitResult {
  /** Whether `count` tokens would be allowed, with times of the browser's clock; undefined while loading. */
  status: ProjectedStatus | undefined;
  /** The bucket at `ts` (now), less `count` tokens (0). */
  check: (ts?: number, count?: number) => CheckedRateLimit | undefined;
}

/** The status of a limit. The component renders again when the answer changes. */
export function useRateLimit(query: GetRateLimitValueQuery, options: UseRateLimitOptions = {}): UseRateLimitResult {
  const { key, count, getServerTimeMutation } = options;
  const stored = useQuery(query, key === undefined ? {} : { key });
  const client = useConvex();
  const { now: serverNow, schedule } = serverClockOf(client);
  // A reference from `api` is a new object each time; its name is not.
  const clockName = getServerTimeMutation && getFunctionName(getServerTimeMutation);
  const watch = useMemo(() => {
    const snapshot = stored && snapshotFrom(stored);
    const source = { localQueryResult: () => snapshot, onUpdate: () => undefined };
    return watchSource(source, client, { count, getServerTime: getServerTimeMutation });
  }, [stored, client, count, clockName]);
  const { status: known } = useSyncExternalStore(watch.subscribe, watch.result, watch.loading);
  const check = useCallback(
    (ts = Date.now(), tokens = 0): CheckedRateLimit | undefined => {
      if (!stored) return undefined;
      const ahead = serverNow() - Date.now();
      const { value, ts: at, retryAfter } = calculateRateLimit(stored, stored.config, ts + ahead, tokens);
      return {
        value,
        ts: at - ahead,
        config: stored.config,
        shard: stored.shard,
        ok: value >= 0,
        retryAt: retryAfter === undefined ? undefined : ts + retryAfter,
      };
    },
    [stored, serverNow],
  );
  // The first answer may be late. A correction moves the times of a status that is otherwise the same.
  const [measuredAhead, setMeasuredAhead] = useState(() => serverNow() - Date.now());
  useEffect(
    () =>
      schedule(() => {
        setMeasuredAhead(serverNow() - Date.now());
        return END_OF_TIME;
      }),
    [schedule, serverNow],
  );
  const status = useMemo(() => {
    const local = known && { ...known };
    // The end of time, for never, stays a time that a Date can name.
    if (local?.retryAt) local.retryAt = Math.min(END_OF_TIME, local.retryAt - measuredAhead);
    if (local?.resetAt) local.resetAt = Math.min(END_OF_TIME, local.resetAt - measuredAhead);
    return local;
  }, [known, measuredAhead]);
  return useMemo(() => ({ status, check }), [status, check]);
}
