import { expect, it } from "vitest";
import { Agenda } from "../agenda.js";
import { Committer } from "../committer.js";
import { createRandom } from "../random.js";
import { Store } from "../store.js";
import { Transaction } from "../transaction.js";

function open(bytesWrittenPerSecond: number) {
  const agenda = new Agenda();
  const store = new Store();
  store.defineTable("/rows", {});
  const committer = new Committer(agenda, createRandom("committer"), { bytesWrittenPerSecond });
  const ended: { i: number; atMs: number; outcome: string }[] = [];
  /** Submits the transaction, after `write` has run. */
  const submit = (i: number, transaction: Transaction, extraBytes = 0) => {
    const end = (outcome: string) => () => ended.push({ i, atMs: agenda.nowMs, outcome });
    committer.submit({ transaction, extraBytes, onPublished: end("published"), onConflict: end("conflict") });
  };
  return { agenda, store, submit, ended };
}

it("the committer publishes transactions in the order of validation, each as soon as it and all earlier ones are durable", async () => {
  const { agenda, store, submit, ended } = open(1e9);
  for (let i = 0; i < 500; i++) {
    agenda.plan(i / 10, () => {
      const transaction = new Transaction(store, 0);
      transaction.insert("/rows", { i });
      submit(i, transaction);
    });
  }
  await agenda.run();
  expect(ended.map(({ i }) => i)).toEqual(Array.from({ length: 500 }, (_, i) => i));
  // A transaction is durable in 4 ms (median), so without the order half of them would be published before an earlier one.
  expect(ended.filter(({ atMs }, i) => atMs === ended[i - 1]?.atMs).length).toBeGreaterThan(250);
});

it("the committer takes 4 ms (median) and 12 ms (99th percentile) from validation to publication of a lone transaction", async () => {
  const { agenda, store, submit, ended } = open(1e9);
  for (let i = 0; i < 4000; i++) {
    agenda.plan(i * 1000, () => {
      submit(i, new Transaction(store, 0));
    });
  }
  await agenda.run();
  const times = ended.map(({ i, atMs }) => atMs - i * 1000).sort((a, b) => a - b);
  // Three standard errors of the quantiles of 4000 draws of that distribution.
  expect(Math.abs((times[2000] ?? 0) - 4)).toBeLessThan(0.12);
  expect(Math.abs((times[3960] ?? 0) - 12)).toBeLessThan(1.1);
});

it("the committer writes at most as many bytes a second as the class of the deployment can", async () => {
  const { agenda, store, submit, ended } = open(1_000_000);
  for (let i = 0; i < 100; i++) submit(i, new Transaction(store, 0), 10_000);
  await agenda.run();
  // 100 × 10,000 bytes take 1,000 ms; then the last transaction becomes durable.
  const last = ended.at(-1)?.atMs ?? 0;
  expect(last).toBeGreaterThan(1000);
  expect(last).toBeLessThan(1050);
  expect(ended).toHaveLength(100);
});
