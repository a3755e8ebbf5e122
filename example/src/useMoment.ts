import { useServerNow } from "convex-rate-limits/react";
import { useEffect, useState } from "react";

/** The server's time, looked at every so often, to draw what moves; seldom for those who want less motion. */
export function useMoment(everyMs: number): number {
  const now = useServerNow();
  const [moment, setMoment] = useState(now);
  useEffect(() => {
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const timer = setInterval(
      () => {
        setMoment(now());
      },
      isCalm ? Math.max(1000, everyMs) : everyMs,
    );
    return () => {
      clearInterval(timer);
    };
  }, [now, everyMs]);
  return moment;
}
