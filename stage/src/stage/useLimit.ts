import { projectRateLimit } from "convex-rate-limits/client";
import type { RateLimitSnapshot } from "convex-rate-limits/live";
import { useServerNow } from "convex-rate-limits/react";
import { useQuery } from "convex/react";
import type { FunctionReference } from "convex/server";
import { useEffect, useRef, useState } from "react";
import { useServerTime } from "../useServerTime.js";

export type LimitQuery = FunctionReference<"query", "public", { key?: string }, RateLimitSnapshot>;

export interface LimitNow {
  snapshot: RateLimitSnapshot | undefined;
  now: number;
  /** The tokens now; below zero while tokens are owed. */
  value: number | undefined;
  capacity: number;
}

/** The state of a limit now, updated every `everyMs`. */
export function useLimit(query: LimitQuery, key: string, everyMs = 60): LimitNow {
  const snapshot = useQuery(query, { key });
  const now = useServerTime(everyMs);
  const value = snapshot && valueAt(snapshot, now);
  return { snapshot, now, value, capacity: snapshot ? capacityOf(inForce(snapshot, now)) : 10 };
}

export function valueAt(snapshot: RateLimitSnapshot, now: number): number {
  return projectRateLimit(snapshot, { now, count: 0 }).value;
}

export function capacityOf({ config }: Pick<RateLimitSnapshot, "config">): number {
  return config.kind === "concurrency" ? config.slots : (config.capacity ?? config.rate);
}

/** The bucket with the config of an admin's override, while the override applies. */
function inForce(snapshot: RateLimitSnapshot, now: number): Pick<RateLimitSnapshot, "config"> {
  const { override } = snapshot;
  return override && now < override.until && "config" in override ? override : snapshot;
}

/** A snapshot, and the time from which it was the bucket's state. */
export interface Past {
  at: number;
  snapshot: RateLimitSnapshot;
}

/** The chart cannot show more of them apart. */
const MOST_PAST = 400;

/**
 * The states of a bucket since the page was opened, oldest first. The time of a write is in the state. The time of a change of
 * config or of a reset is not, so the page takes its own.
 */
export function usePast(snapshot: RateLimitSnapshot | undefined): Past[] {
  const now = useServerNow();
  const [past, setPast] = useState<Past[]>([]);
  const last = useRef<RateLimitSnapshot>(undefined);
  useEffect(() => {
    if (!snapshot || snapshot === last.current) return;
    const before = last.current;
    last.current = snapshot;
    const isWritten = snapshot.ts > (before?.ts ?? 0);
    const at = isWritten || !before ? snapshot.ts : now();
    setPast((past) => [...past.slice(-MOST_PAST), { at, snapshot }]);
  }, [snapshot, now]);
  return past;
}
