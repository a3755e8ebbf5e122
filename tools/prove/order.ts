/** Checks the queue's order, and the scheduler that it uses. */
import { api } from "../../stage/convex/_generated/api.js";
import type { Check, Prover } from "./check.js";
import { quantile } from "./latencies.js";
import { sleep, until } from "./sleep.js";

const subject = "Order and scheduling";

export const order: readonly Check[] = [
  {
    subject,
    name: "Queued jobs start in the order of their commits",
    expected: "each job starts, in the order in which the calls were answered",
    calls: ({ jobs }) => jobs * 4 + 60,
    seconds: () => 20,
    run: async (prover) => {
      const { jobs } = prover.effort;
      const label = "queue";
      const key = prover.key("tables", "proofQueue", label);
      for (let n = 0; n < jobs; n++) {
        await prover.http.mutation(api.prove.order.enqueue, { ...prover.rows(label), n, key });
      }
      const rows = await written(prover, label, jobs, 10_000);
      const inOrder = rows.every(({ n }, i) => n === i);
      return {
        seen: `${rows.length} of ${jobs} started, ${inOrder ? "in order" : rows.map(({ n }) => n).join(" ")}`,
        holds: rows.length === jobs && inOrder,
      };
    },
  },
  {
    subject,
    name: "Scheduled functions",
    expected: "each runs, none before its time",
    calls: ({ jobs }) => jobs * 2 + 60,
    seconds: () => 20,
    run: async (prover) => {
      const { jobs } = prover.effort;
      const label = "later";
      for (let n = 0; n < jobs; n++) {
        await prover.http.mutation(api.prove.order.later, { ...prover.rows(label), n, delayMs: 1000 });
      }
      const rows = await written(prover, label, jobs, 10_000);
      const delays = rows.map(({ at, dueAt }) => at - dueAt);
      const earliest = Math.min(...delays);
      const [p50, most] = [quantile(delays, 0.5), Math.max(...delays)];
      return {
        seen: `${rows.length} of ${jobs} ran, ${earliest} to ${most} ms after their time, the median ${p50} ms`,
        holds: rows.length === jobs && earliest >= 0,
        figures: { earliestMs: earliest, p50Ms: p50, mostMs: most },
      };
    },
  },
  {
    subject,
    name: "A cancelled function",
    expected: "is canceled, twice without an error, and never runs",
    calls: () => 6,
    run: async (prover) => {
      const label = "cancelled";
      const { secret } = prover;
      const job = await prover.http.mutation(api.prove.order.later, { ...prover.rows(label), n: 0, delayMs: 1500 });
      await prover.http.mutation(api.prove.order.cancel, { secret, job });
      await prover.http.mutation(api.prove.order.cancel, { secret, job });
      await sleep(2000);
      const state = await prover.http.query(api.prove.order.state, { secret, job });
      const rows = await prover.http.query(api.prove.rows.list, prover.rows(label));
      return {
        seen: `its state is ${state}, and it ran ${rows.length} times`,
        holds: state === "canceled" && rows.length === 0,
      };
    },
  },
  {
    subject,
    name: "A scheduled function that no module exports, like the worker of a queue whose module was renamed",
    expected: "is refused, or fails: it never waits silently",
    calls: () => 30,
    seconds: () => 8,
    run: async (prover) => {
      const { secret } = prover;
      try {
        const job = await prover.http.mutation(api.prove.order.scheduleMissing, { secret });
        const state = await until(5000, async () => {
          const now = await prover.http.query(api.prove.order.state, { secret, job });
          return now === "pending" || now === "inProgress" ? undefined : now;
        });
        return { seen: `its state is ${state ?? "pending"}`, holds: state === "failed" };
      } catch (error) {
        return { seen: `refused: ${String(error).slice(0, 120)}`, holds: true };
      }
    },
  },
  {
    subject,
    name: "A query inside a mutation that has just written a row",
    expected: "sees the row; with useStaleSnapshot it does not, and getSnapshotTs rises from call to call",
    calls: () => 2,
    run: async (prover) => {
      const ask = (label: string) => prover.http.mutation(api.prove.order.snapshots, prover.rows(label));
      const [first, second] = [await ask("snapshot-1"), await ask("snapshot-2")];
      const rises = BigInt(second.snapshotTs) > BigInt(first.snapshotTs);
      return {
        seen: `${first.own} row, with useStaleSnapshot ${first.stale}; getSnapshotTs ${rises ? "rises" : "does not rise"}`,
        holds: first.own === 1 && first.stale === 0 && rises,
      };
    },
  },
];

/** Waits for all rows of a check, at most for `ms`. Returns the rows that are there. */
async function written({ http, rows }: Prover, label: string, count: number, ms: number) {
  const list = () => http.query(api.prove.rows.list, rows(label));
  const all = await until(ms, async () => {
    const found = await list();
    return found.length >= count ? found : undefined;
  });
  return all ?? (await list());
}
