/** The time that a limit adds to a mutation, for a client that makes one call after another. */
import { api } from "../../stage/convex/_generated/api.js";
import type { Check } from "./check.js";
import { quantile } from "./latencies.js";

const KINDS = ["empty", "tables", "component", "official"] as const;

export const cost: readonly Check[] = [
  {
    subject: "Cost",
    name: "The time that one call adds to an empty mutation: in your tables, in the component, in the official component",
    expected: "every call is answered; the figures are the result",
    notEmbedded: "it has no fresh context for each function",
    calls: ({ rounds }) => rounds * KINDS.length,
    seconds: () => 15,
    run: async ({ effort, http, key, secret }) => {
      const times: Record<(typeof KINDS)[number], number[]> = { empty: [], tables: [], component: [], official: [] };
      const keys = {
        empty: "",
        tables: key("tables", "proof", "cost"),
        component: key("component", "proof", "cost"),
        official: key("official", "proof", "cost"),
      };
      // The kinds take turns, so that a change of conditions during the check affects all of them.
      for (let round = 0; round < effort.rounds; round++) {
        for (const kind of KINDS) {
          const asked = { secret, key: keys[kind], rate: 100, capacity: 1000, shards: 1 };
          const start = performance.now();
          await http.mutation(api.prove[kind].hit, asked);
          times[kind].push(performance.now() - start);
        }
      }
      const empty = quantile(times.empty, 0.5);
      const over = (kind: (typeof KINDS)[number]) => Math.round((quantile(times[kind], 0.5) - empty) * 10) / 10;
      const figures = {
        emptyMs: empty,
        tablesMs: over("tables"),
        componentMs: over("component"),
        officialMs: over("official"),
      };
      return {
        seen: `medians: empty ${empty} ms; over it ${figures.tablesMs} ms, ${figures.componentMs} ms, ${figures.officialMs} ms`,
        holds: true,
        figures,
      };
    },
  },
];
