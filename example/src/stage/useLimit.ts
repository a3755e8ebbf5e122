import type { RateLimitSnapshot } from "convex-rate-limits";
import { project } from "convex-rate-limits/client";
import { useServerNow } from "convex-rate-limits/react";
import { useQuery } from "convex/react";
import type { FunctionReference } from "convex/server";
import { useEffect, useRef, useState } from "react";
import { useMoment } from "../useMoment.js";

export type LimitQuery = FunctionReference<"query", "public", { key?: string }, RateLimitSnapshot>;

export interface LimitNow {
  snapshot: RateLimitSnapshot | undefined;
  now: number;
  /** Tokens now, below zero while some are owed. */
  value: number | undefined;
  capacity: number;
}

/** A limit as it is now, looked at often enough to be drawn. */
export function useLimit(query: LimitQuery, key: string, everyMs = 60): LimitNow {
  const snapshot = useQuery(query, { key });
  const now = useMoment(everyMs);
  const value = snapshot && valueAt(snapshot, now);
  return { snapshot, now, value, capacity: snapshot ? capacityOf(inForce(snapshot, now)) : 10 };
}

export function valueAt(snapshot: RateLimitSnapshot, now: number): number {
  return project(snapshot, { now, count: 0 }).value;
}

export function capacityOf({ config }: Pick<RateLimitSnapshot, "config">): number {
  return config.capacity ?? config.rate;
}

/** The bucket under the config that an admin has given it, while that holds. */
function inForce(snapshot: RateLimitSnapshot, now: number): Pick<RateLimitSnapshot, "config"> {
  const { override } = snapshot;
  return override && now < override.until && "config" in override ? override : snapshot;
}

/** A snapshot, and from when on it was the bucket's state. */
export interface Past {
  at: number;
  snapshot: RateLimitSnapshot;
}

/** As many as the chart can tell apart. */
const MOST_PAST = 400;

/**
 * The states of a bucket since the page was opened, oldest first. A state says itself when it was written; when a config was changed
 * or a bucket was reset, only the page can tell.
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
