/** The server's clock in displays that move. */
import { useConvex } from "convex/react";
import { useCallback, useSyncExternalStore } from "react";
import { END_OF_TIME } from "../browser/bucket.js";
import { type ClockClient, type ServerClock, serverClockOf } from "../browser/serverClock.js";

/**
 * A function that tells the server's time, in milliseconds since the epoch; the same function in every render. For displays
 * that move between two renders of `useRateLimit`, such as a gauge: they decide for themselves how often to look.
 *
 * The clock is the one that `useRateLimit` measures with `getServerTime`; until then, and without, it is the browser's.
 */
export function useServerNow(): () => number {
  return clockOf(useConvex()).now;
}

/**
 * Whole seconds until a moment of the server's clock, rounded up, and 0 from then on; for `status.retryAt`. Renders once a
 * second. Undefined without a moment, and on the server.
 *
 * The clock is the one that `useRateLimit` measures with `getServerTime`, wherever on the page that is.
 */
export function useCountdown(moment: number | undefined): number | undefined {
  const { now, schedule } = clockOf(useConvex());
  const seconds = useCallback(
    () => (moment === undefined ? undefined : Math.max(0, Math.ceil((moment - now()) / 1000))),
    [now, moment],
  );
  const subscribe = useCallback(
    (onChange: () => void) =>
      schedule(() => {
        onChange();
        const left = seconds();
        return moment && left ? moment - (left - 1) * 1000 : END_OF_TIME;
      }),
    [schedule, moment, seconds],
  );
  return useSyncExternalStore(subscribe, seconds, () => undefined);
}

/** Without a provider the clock is the browser's. */
function clockOf(client: ClockClient = NO_CLIENT): ServerClock {
  return serverClockOf(client);
}

/** It is never asked. */
const NO_CLIENT = {} as ClockClient;
