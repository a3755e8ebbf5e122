/**
 * The exact queue does what a queue must do. It is written from the rules alone, and shares no code with src/.
 *
 * - A job arrives when its caller commits, and counts in runs of the worker that begin after that.
 * - Within a priority, the earlier job goes first. In a fair queue, the job of the earlier round goes first, then the earlier job. A job
 *   gets its round when it first counts: its count more than the user's own last round or the lowest round that waits, whichever is higher.
 * - Between priorities, the older of the first jobs goes first, and each level of priority counts as `aging` ms. A job's age is counted
 *   from its commit.
 * - During a pause nothing starts: what is asked then is decided as of its end, or of the last write if a clock ahead has made one later.
 * - A job is taken when one exact bucket would start it within 1,050 ms, or if a full bucket would start it no sooner. It gets the start
 *   time that the exact bucket gives it.
 * - With a second limit, a job is taken when both exact buckets start it now, and it starts then.
 */
import { ask, type State } from "../support/exact/bucket.js";
import type { Ask, ExactLimit, Reserve } from "../support/exact/config.js";

export interface Rules {
  readonly limit: ExactLimit;
  readonly priorities: number;
  readonly aging: number;
  readonly fair: boolean;
  /** The second limit, and what each job takes from it. */
  readonly second?: { readonly limit: ExactLimit; readonly count: number } | undefined;
}

export interface ExactJob {
  readonly id: string;
  /** When its caller committed, in ns of the database's clock. */
  readonly at: bigint;
  /** The commit that inserted it; for a job that waits again, the first one. */
  readonly commit: number;
  /** The commit since which it waits again, if it does. */
  readonly back?: number;
  readonly priority: number;
  readonly count: number;
  readonly user: string | undefined;
  round?: number;
}

const AHEAD_MS = 1050;

/** The clock and the snapshot of one run of the worker. */
export interface RunTime {
  readonly clock: number;
  /** The last commit that it sees. */
  readonly snapshot: number;
}

export class ExactQueue {
  readonly waiting = new Map<string, ExactJob>();
  bucket: State = undefined;
  /** Nothing starts before this time. */
  pausedUntil = 0;
  /** The bucket of the second limit, and until when it is paused. */
  second: State = undefined;
  secondPausedUntil = 0;

  constructor(readonly rules: Rules) {}

  enqueue(job: ExactJob): void {
    this.waiting.set(job.id, job);
  }

  /** Removes the job, and returns whether it waited. */
  cancel(id: string): boolean {
    return this.waiting.delete(id);
  }

  /** In a fair queue: gives rounds to all jobs that count and have none. `given` orders jobs that arrived in one commit. */
  sortIn(run: RunTime, given: ReadonlyMap<string, number>): void {
    for (let priority = 0; priority < this.rules.priorities; priority++) {
      const ofClass = [...this.waiting.values()].filter((job) => job.priority === priority);
      const lowest = Math.min(...ofClass.flatMap(({ round }) => round ?? []));
      const serving = lowest === Infinity ? 0 : lowest;
      const fresh = ofClass.filter((job) => job.round === undefined && counts(job, run));
      fresh.sort((a, b) => a.commit - b.commit || (given.get(a.id) ?? 0) - (given.get(b.id) ?? 0));
      for (const job of fresh) {
        const own = ofClass.filter(({ user, round }) => user === job.user && round !== undefined);
        job.round = job.count + Math.max(serving, ...own.map(({ round = 0 }) => round));
      }
    }
  }

  /** The jobs that may be first: more than one only if they arrived in one commit. */
  first(run: RunTime): ExactJob[] {
    const heads: ExactJob[][] = [];
    for (let priority = 0; priority < this.rules.priorities; priority++) {
      const counting = [...this.waiting.values()].filter(
        (job) => job.priority === priority && (this.rules.fair ? job.round !== undefined : counts(job, run)),
      );
      heads.push(counting.filter((job) => !counting.some((other) => precedes(other, job))));
    }
    const all = heads.flat();
    const age = ({ at, priority }: ExactJob) => at - BigInt(priority) * nsOf(this.rules.aging);
    return all.filter(
      (job) =>
        !all.some((other) => age(other) < age(job) || (age(other) === age(job) && other.priority > job.priority)),
    );
  }

  /**
   * The time at which the job starts if the bucket pays for it now; undefined if it has to wait.
   * @param granted - the start time that the queue gave it, which may be later if the bucket is split.
   * @param date - of a job that settles: when its tokens were taken.
   */
  pay({ count }: ExactJob, now: number, granted?: number, date?: number): number | undefined {
    const { startsAt, after } = this.ask({ count, reserve: this.#reserve(count, now), date }, now, granted);
    const second = this.askSecond(now);
    if (startsAt === undefined || !second) return undefined;
    this.bucket = after;
    this.second = second.after;
    return startsAt;
  }

  /** The second bucket after it has paid for a job now, or for `count`; undefined if it cannot. */
  askSecond(now: number, count = this.rules.second?.count): { after: State } | undefined {
    const { second } = this.rules;
    if (!second || count === undefined) return { after: undefined };
    if (now < this.secondPausedUntil) return undefined;
    const { answer, after } = ask(second.limit, this.second, now, { count, reserve: false });
    return answer.ok ? { after } : undefined;
  }

  /** When something starts that is asked now, and the bucket after it; undefined if it is denied. */
  ask(asked: Ask, now: number, granted?: number): { startsAt: number | undefined; after: State } {
    const { limit } = this.rules;
    const from = now < this.pausedUntil ? Math.max(this.pausedUntil, this.bucket?.ts ?? 0) : now;
    const { count, reserve } = asked;
    if (from > now && count > 0 && !reserve) return { startsAt: undefined, after: this.bucket };
    const isBounded = typeof reserve === "object" && from > now;
    const bound = isBounded ? { reserve: { within: reserve.within - (from - now) } } : {};
    const isTooLate = isBounded && reserve.within < from - now;
    const { answer, after } = ask(limit, this.bucket, from, { ...asked, ...bound }, granted);
    if (!answer.ok || isTooLate) return { startsAt: undefined, after: this.bucket };
    return { startsAt: answer.retryAt ?? (count > 0 ? from : now), after };
  }

  canPay({ count }: ExactJob, now: number): boolean {
    const isPayable = this.ask({ count, reserve: this.#reserve(count, now) }, now).startsAt !== undefined;
    return isPayable && this.askSecond(now) !== undefined;
  }

  #reserve(count: number, now: number): Reserve {
    if (this.rules.second) return false;
    const { answer } = ask(this.rules.limit, undefined, now, { count, reserve: true });
    return { within: Math.max(AHEAD_MS, (answer.retryAt ?? now) - now) };
  }
}

/** Whole microseconds, as ns. */
function nsOf(ms: number): bigint {
  return BigInt(Math.floor(1000 * ms)) * 1000n;
}

function counts({ commit, back = commit }: ExactJob, { snapshot }: RunTime): boolean {
  return back <= snapshot;
}

function precedes(one: ExactJob, other: ExactJob): boolean {
  const rounds = (one.round ?? 0) - (other.round ?? 0);
  return rounds < 0 || (rounds === 0 && one.commit < other.commit);
}
