/** What a mutation with a limit takes longer than one without, from a client that calls one after another. */
import { api } from "../convex/_generated/api.js";
import type { Check } from "./check.js";
import { quantile } from "./latencies.js";

const KINDS = ["empty", "tables", "component", "official"] as const;

export const cost: readonly Check[] = [
  {
    subject: "Cost",
    name: "The time of one call over an empty mutation: in your tables, in the component, in the official component",
    expected: "every call is answered; the figures count",
    notEmbedded: "no fresh context for each function",
    calls: ({ rounds }) => rounds * KINDS.length,
    run: async ({ effort, http, key, secret }) => {
      const times: Record<(typeof KINDS)[number], number[]> = { empty: [], tables: [], component: [], official: [] };
      const keys = {
        empty: "",
        tables: key("tables", "proof", "cost"),
        component: key("component", "proof", "cost"),
        official: key("official", "proof", "cost"),
      };
      // Interleaved, so that what changes on the way changes all of them.
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
