/** Checks the store that the React hook uses, over a WebSocket: how late it reports that a call is allowed again. */
import { watchRateLimit } from "convex-rate-limits/client";
import { api } from "../../stage/convex/_generated/api.js";
import type { Check } from "./check.js";
import { quantile } from "./latencies.js";

/** How long to wait for the store. A cycle takes a second. A store that learns of a denial only after the wait reports nothing. */
const PATIENCE_MS = 3000;

export const live: readonly Check[] = [
  {
    subject: "Live",
    name: "A call at the time at which the client's store allows it",
    expected: "every such call is allowed: none comes before retryAt by the server's clock",
    calls: ({ rounds }) => rounds * 4 + 10,
    seconds: ({ rounds }) => 10 + rounds,
    run: async ({ effort, http, socket, key: keyOf, secret }) => {
      const key = keyOf("tables", "proof", "live");
      const asked = { secret, key, rate: 1, capacity: 1, shards: 1 };
      const { getRateLimit, getServerTime } = api.prove.live;
      const watch = watchRateLimit(socket, getRateLimit, { key: `${secret} ${key}`, getServerTime });
      const hit = () => http.mutation(api.prove.tables.hit, asked, { skipQueue: true });
      const lateness: number[] = [];
      let denied = 0;
      let stop: () => void = () => undefined;
      // This call takes the full bucket's only token, so that the first round begins with a denial.
      await hit();
      for (let round = 0; round < effort.rounds; round++) {
        const { ok, retryAt } = await hit();
        if (ok || retryAt === undefined) continue;
        const isHeard = await new Promise<boolean>((resolve) => {
          const patience = setTimeout(() => {
            resolve(false);
          }, PATIENCE_MS);
          // A store that does not know of the denial yet still allows the call, so only a status after `retryAt` counts.
          stop = watch.subscribe((status) => {
            if (status?.ok !== true || watch.now() < retryAt) return;
            clearTimeout(patience);
            resolve(true);
          });
        });
        stop();
        if (!isHeard) continue;
        const next = await hit();
        if (!next.ok) denied++;
        lateness.push(next.before - retryAt);
      }
      const figures = {
        cycles: lateness.length,
        denied,
        p50Ms: quantile(lateness, 0.5),
        p99Ms: quantile(lateness, 0.99),
      };
      return {
        seen: `${lateness.length} cycles, ${denied} denied; the calls came ${figures.p50Ms} ms late at the median, ${figures.p99Ms} ms at p99`,
        holds: denied === 0 && lateness.length > 0,
        figures,
      };
    },
  },
];
