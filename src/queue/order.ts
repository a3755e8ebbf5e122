/**
 * The order of the jobs of one bucket.
 *
 * Jobs of one priority are a class. Within it they go in order of arrival or, where users share it fairly, by rounds: a
 * user's round ends as many tokens after the last one as the job takes, and the job whose round ends first goes first.
 * So users who keep jobs waiting get equally many tokens. Between classes the heads are compared: each level of
 * priority counts as `aging` ms of waiting.
 */
import type { JobRow } from "./tables.js";

/** The fields that decide a job's turn. */
type Waiting = Pick<JobRow, "priority" | "at">;

export const NS_PER_MS = 1_000_000;

/**
 * Whether the head of a list goes before that of an earlier list: also if both count as equally old, since higher
 * priorities are later lists.
 */
function goesBefore(one: Waiting, other: Waiting, aging: number): boolean {
  const level = BigInt(aging * NS_PER_MS);
  return one.at - other.at <= BigInt(one.priority - other.priority) * level;
}

/**
 * Jobs that join a class, each with the end of its round, in tokens: it begins where its user's last one ends, or else
 * the one that is being served. So the job that is being served stays the first, however many others keep coming.
 * @param sorted - the jobs of the class in rounds, the lowest first: all, or the first of them.
 * @param lasts - each user's own last round that waits; else the last of `sorted`.
 */
export function roundsOf(
  arrivals: readonly JobRow[],
  sorted: readonly JobRow[],
  lasts = sorted.map(({ fairBy, round }) => [fairBy, round] as const),
) {
  const [serving] = sorted;
  const own = new Map(lasts);
  return arrivals.map((job) => {
    const round = (own.get(job.fairBy) ?? serving?.round ?? 0) + job.count;
    own.set(job.fairBy, round);
    return { ...job, round };
  });
}

/** The jobs of a class in the order of their rounds, with those that join it. */
export const inTurns = (sorted: readonly JobRow[], joining: readonly JobRow[]): JobRow[] =>
  [...sorted, ...joining].sort((a, b) => (a.round ?? 0) - (b.round ?? 0));

/**
 * The jobs of several classes, one after another, in the order in which their turn comes, as far as it is known.
 *
 * A job is overtaken only by one of a higher priority that came at most (difference of the priorities) × aging later.
 * Proof: when that happens, the head of the lower class counts as younger than the head of the higher, and it is not
 * younger than the job.
 * @param classes - the jobs of each priority, in their order. After `share` jobs a list may go on.
 */
export function mergeClasses<Job extends Waiting>(classes: readonly (readonly Job[])[], aging: number, share: number) {
  const next = classes.map(() => 0);
  const first: Job[] = [];
  for (;;) {
    let head: { job: Job; from: number } | undefined;
    for (const [from, jobs] of classes.entries()) {
      const job = jobs[next[from] ?? 0];
      if (job && (!head || goesBefore(job, head.job, aging))) head = { job, from };
    }
    if (!head) return { first, hasMore: false };
    const { job, from } = head;
    const taken = (next[from] ?? 0) + 1;
    first.push(job);
    if (taken === share) return { first, hasMore: true };
    next[from] = taken;
  }
}
