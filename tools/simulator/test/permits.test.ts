import { expect, it } from "vitest";
import { Agenda } from "../agenda.js";
import { Permits } from "../permits.js";
import { Queue } from "../queue.js";

/** Acquires a permit at the time `atMs` of each hold, for `forMs`. Returns a log of the events, in order. */
async function run(count: number, mostWaitMs: number, holds: readonly { atMs: number; forMs: number }[]) {
  const agenda = new Agenda();
  const permits = new Permits(agenda, count, mostWaitMs);
  const log: string[] = [];
  for (const [i, { atMs, forMs }] of holds.entries()) {
    agenda.plan(atMs, () => {
      permits.acquire(
        () => {
          log.push(`${i} from ${agenda.nowMs}`);
          agenda.plan(agenda.nowMs + forMs, () => {
            permits.release();
          });
        },
        () => log.push(`${i} gave up at ${agenda.nowMs}`),
      );
    });
  }
  await agenda.run();
  return log;
}

it("permits are given to `count` holders at once, and to the others in the order of their requests", async () => {
  const holds = [0, 1, 2, 3, 4].map((atMs) => ({ atMs, forMs: 10 }));
  expect(await run(2, Infinity, holds)).toEqual(["0 from 0", "1 from 1", "2 from 10", "3 from 11", "4 from 20"]);
});

it("permits can be released only once", () => {
  const permits = new Permits(new Agenda(), 1, 5000);
  expect(() => {
    permits.release();
  }).toThrow("nobody held");
});

it("permits wait in a queue that returns every item once, in order, however many it has held", () => {
  const queue = new Queue<number>();
  const taken: (number | undefined)[] = [];
  for (let i = 0; i < 5000; i++) {
    queue.push(2 * i);
    queue.push(2 * i + 1);
    taken.push(queue.take());
  }
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  expect(taken).toEqual(Array.from({ length: 10_000 }, (_, i) => i));
  expect(queue.take()).toBeUndefined();
});
