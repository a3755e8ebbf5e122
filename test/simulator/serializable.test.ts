/** The store's promise: whatever overlaps, the outcome is that of the committed transactions one after another. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { Database } from "../../bench/simulator/database.js";
import { Store } from "../../bench/simulator/store.js";
import { Transaction } from "../../bench/simulator/transaction.js";
import { runs } from "../support/random.js";

const SHARDS = 5;

/** What a transaction does next; every write depends on what was read, so that a stale read shows. */
const step = fc.oneof(
  fc.record({ do: fc.constant("read" as const), shard: fc.nat(SHARDS - 1) }),
  fc.record({ do: fc.constant("sum" as const), from: fc.nat(SHARDS - 1), to: fc.nat(SHARDS - 1) }),
  fc.record({ do: fc.constant("put" as const), shard: fc.nat(SHARDS - 1) }),
  fc.record({ do: fc.constant("move" as const), shard: fc.nat(SHARDS - 1), to: fc.nat(SHARDS - 1) }),
  fc.record({ do: fc.constant("delete" as const), shard: fc.nat(SHARDS - 1) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Rows by shard; none has two. The naive twin of the table. */
type Rows = Map<number, number>;

function runOnTwin(rows: Rows, steps: readonly Step[]): number[] {
  const seen: number[] = [0];
  for (const step of steps) {
    const total = seen.reduce((a, b) => a + b, 1) % 1000;
    if (step.do === "read") seen.push(rows.get(step.shard) ?? -1);
    if (step.do === "sum") {
      const within = [...rows].filter(([shard]) => shard >= step.from && shard <= step.to);
      seen.push(within.reduce((sum, [, value]) => sum + value, 0));
    }
    if (step.do === "put") rows.set(step.shard, total);
    if (step.do === "move") {
      const value = rows.get(step.shard);
      if (value === undefined || rows.has(step.to)) continue;
      rows.delete(step.shard);
      rows.set(step.to, value);
    }
    if (step.do === "delete") rows.delete(step.shard);
  }
  return seen;
}

async function runStep(db: Database, step: Step, seen: number[]): Promise<void> {
  const row = async (shard: number) =>
    await db
      .query("rows")
      .withIndex("by_shard", (q) => q.eq("shard", shard))
      .unique();
  const total = seen.reduce((a, b) => a + b, 1) % 1000;
  switch (step.do) {
    case "read":
      seen.push(Number((await row(step.shard))?.["value"] ?? -1));
      return;
    case "sum": {
      const rows = await db
        .query("rows")
        .withIndex("by_shard", (q) => q.gte("shard", step.from).lte("shard", step.to))
        .collect();
      seen.push(rows.reduce((sum, { value }) => sum + Number(value), 0));
      return;
    }
    case "put": {
      const found = await row(step.shard);
      if (found) await db.patch("rows", found._id, { value: total });
      else await db.insert("rows", { shard: step.shard, value: total });
      return;
    }
    case "move": {
      const found = await row(step.shard);
      if (found && !(await row(step.to))) await db.patch(found._id, { shard: step.to });
      return;
    }
    case "delete": {
      const found = await row(step.shard);
      if (found) await db.delete(found._id);
      return;
    }
  }
}

it("what commits could have run one after another, in the order of the commits, and read and wrote the same", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 8 }),
      fc.infiniteStream(fc.nat(1000)),
      async (programs, choices) => {
        const store = new Store();
        store.defineTable("/rows", { by_shard: ["shard"] });
        const waiting = [...programs];
        const running: { steps: Step[]; program: readonly Step[]; transaction: Transaction; seen: number[] }[] = [];
        const twin: Rows = new Map();
        while (waiting.length > 0 || running.length > 0) {
          const choice = choices.next().value as number;
          const next = choice % 3 === 0 || running.length === 0 ? waiting.pop() : undefined;
          if (next) {
            running.push({ steps: [...next], program: next, transaction: new Transaction(store, 0), seen: [0] });
            continue;
          }
          const chosen = running[choice % running.length];
          if (!chosen) continue;
          const step = chosen.steps.shift();
          if (step) {
            await runStep(new Database(chosen.transaction, "", "mutation"), step, chosen.seen);
            continue;
          }
          running.splice(running.indexOf(chosen), 1);
          if (chosen.transaction.hasConflict()) {
            chosen.transaction.close();
            continue;
          }
          chosen.transaction.commit();
          expect(runOnTwin(twin, chosen.program)).toEqual(chosen.seen);
        }
        const rows = [...store.table("/rows").documents(Infinity)].map(({ shard, value }) => [shard, value]);
        expect(new Map(rows as [number, number][])).toEqual(twin);
      },
    ),
    { numRuns: runs(1500) },
  );
});
