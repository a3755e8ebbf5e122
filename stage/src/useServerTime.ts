import { useServerNow } from "convex-rate-limits/react";
import { useEffect, useState } from "react";

/** The server's time, read every `everyMs` to draw what moves; at most once a second for visitors who want less motion. */
export function useServerTime(everyMs: number): number {
  const now = useServerNow();
  const [time, setTime] = useState(now);
  useEffect(() => {
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const timer = setInterval(
      () => {
        setTime(now());
      },
      isCalm ? Math.max(1000, everyMs) : everyMs,
    );
    return () => {
      clearInterval(timer);
    };
  }, [now, everyMs]);
  return time;
}
