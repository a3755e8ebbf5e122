/** What a run of the worker looks at. The ranges end at jobs that have settled, so that callers who insert do not disturb it. */
import { sortIn } from "./rounds.js";
import { type Class, type JobRow, type QueueReader, type QueueWriter, readArrivals, readRounds } from "./rows.js";
import type { Queue } from "./terms.js";

/** The arrivals of a class that a run looks at: it writes each of those that it sorts in, and only counts the others. */
const MOST_SORTED = 128;
const MOST_COUNTED = 1000;

export function classesOf({ limit, key, terms }: Queue): Class[] {
  return Array.from({ length: terms.priorities }, (_, priority) => ({ name: limit.name, key, priority }));
}

interface Arrivals {
  readonly count: number;
  /** Whether there are more than one run sorts in. */
  readonly hasMore: boolean;
}

/** The arrivals since the last run, and the first jobs of each class, at most so many. */
export async function look(
  ctx: QueueWriter,
  queue: Queue,
  seen: { from: number; to: number },
  most: number,
): Promise<{ arrivals: Arrivals; heads: JobRow[][] }> {
  const arriving = lookAtArrivals(ctx, queue, seen);
  // Where arrivals are sorted in, the first jobs are known only then; else both are read at once.
  if (queue.terms.fair) await arriving;
  const [arrivals, heads] = await Promise.all([arriving, lookAtHeads(ctx, queue, seen.to, most)]);
  return { arrivals, heads };
}

/** The jobs that have come since the last run: sorted into rounds, or counted where the number of jobs is bounded, or just noticed. */
async function lookAtArrivals(
  ctx: QueueWriter,
  queue: Queue,
  { from, to }: { from: number; to: number },
): Promise<Arrivals> {
  const { fair, maxQueued, exact } = queue.terms;
  const most = fair ? MOST_SORTED : maxQueued < Infinity && !exact ? MOST_COUNTED : 1;
  const range = { from: fair ? -1 : from, to };
  const classes = classesOf(queue);
  const arrivals = await Promise.all(classes.map((of) => readArrivals(ctx, of, range, most)));
  if (fair) {
    for (const [i, of] of classes.entries()) await sortIn(ctx, of, arrivals[i] ?? []);
  }
  return {
    count: arrivals.reduce((sum, { length }) => sum + length, 0),
    hasMore: fair && arrivals.some(({ length }) => length === most),
  };
}

/** The first jobs of each class. */
async function lookAtHeads(ctx: QueueReader, queue: Queue, to: number, most: number): Promise<JobRow[][]> {
  return await Promise.all(
    classesOf(queue).map((of) =>
      queue.terms.fair ? readRounds(ctx, of, most) : readArrivals(ctx, of, { from: -1, to }, most),
    ),
  );
}

/** Whether jobs have come since then. */
export async function hasYounger(ctx: QueueReader, queue: Queue, since: number): Promise<boolean> {
  const range = { from: since, to: Infinity };
  const younger = await Promise.all(classesOf(queue).map((of) => readArrivals(ctx, of, range, 1)));
  return younger.some(({ length }) => length > 0);
}
