/**
 * The exact queue does what a queue must do. It is written from the rules alone, and shares no code with src/.
 *
 * - A job arrives when its caller commits, and counts in runs of the worker that begin after that.
 * - Within a priority, the earlier job goes first. In a fair queue, the job of the earlier round goes first, then the earlier job. A job
 *   gets its round when it first counts: its count more than the user's own last round or the lowest round that waits, whichever is higher.
 * - Between priorities, the older of the first jobs goes first, and each level of priority counts as `aging` ms. A job's age is counted
 *   from its commit.
 * - During a pause nothing starts: what is asked then is decided for its end, or for the last write if a clock ahead has made one later.
 * - A job is taken when one exact bucket would start it within 1,050 ms, or if a full bucket would start it no sooner. It gets the start
 *   time that the exact bucket gives it.
 * - With a second limit, a job is taken when both exact buckets start it now, and it starts then.
 * - A job that must run again from a time on waits in its place since the first run at or after that time.
 * - A job leaves at the first run after its deadline.
 */
import { adjust, ask, pause, type State } from "../support/exact/bucket.js";
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
  /** The commit since which it waits again, if it does; infinity before `notBefore`. */
  back?: number;
  readonly notBefore?: number;
  readonly notAfter: number;
  readonly priority: number;
  readonly count: number;
  readonly user: string | undefined;
  round?: number | undefined;
}

const AHEAD_MS = 1050;

/** The clock and the snapshot of one run of the worker. */
export interface RunTime {
  readonly clock: number;
  /** The last commit that it sees. */
  readonly snapshot: number;
}

/** An exact bucket that can be paused. */
export class ExactBucket {
  state: State = undefined;
  /** Nothing starts before this time. */
  pausedUntil = 0;
  /** When it was reset last, by the clock of the resetting run. */
  resetAt = 0;

  constructor(readonly limit: ExactLimit) {}

  /** When something starts that is asked now, and the state after it; undefined if it is denied. */
  ask(asked: Ask, now: number, granted?: number): { startsAt: number | undefined; after: State } {
    const from = now < this.pausedUntil ? Math.max(this.pausedUntil, this.state?.ts ?? 0) : now;
    const { count, reserve } = asked;
    if (from > now && count > 0 && !reserve) return { startsAt: undefined, after: this.state };
    const isBounded = typeof reserve === "object" && from > now;
    const bound = isBounded ? { reserve: { within: reserve.within - (from - now) } } : {};
    const isTooLate = isBounded && reserve.within < from - now;
    const { answer, after } = ask(this.limit, this.state, from, { ...asked, ...bound }, granted);
    if (!answer.ok || isTooLate) return { startsAt: undefined, after: this.state };
    return { startsAt: answer.retryAt ?? (count > 0 ? from : now), after };
  }

  pause(now: number, until: number): void {
    // The longest pause applies.
    if (until <= this.pausedUntil) return;
    const { ts = now } = this.state ?? {};
    // A pause that is extended has moved the bucket's time to its end.
    const at = ts === this.pausedUntil ? now : Math.max(now, ts);
    this.state = pause(this.limit, this.state, now, until, at);
    this.pausedUntil = until;
  }

  /** @param datedAt - of a bucket whose tokens might come back: it is full from then on, so a clock behind counts from there. */
  reset(clock: number, datedAt: number | undefined): void {
    const taken = datedAt === undefined ? undefined : adjust(this.limit, undefined, datedAt, 1).after;
    this.state = datedAt === undefined ? undefined : adjust(this.limit, taken, datedAt, -1).after;
    this.pausedUntil = 0;
    this.resetAt = clock;
  }
}

export class ExactQueue {
  readonly waiting = new Map<string, ExactJob>();
  readonly own: ExactBucket;
  readonly second: ExactBucket | undefined;

  constructor(readonly rules: Rules) {
    this.own = new ExactBucket(rules.limit);
    this.second = rules.second && new ExactBucket(rules.second.limit);
  }

  enqueue(job: ExactJob): void {
    this.waiting.set(job.id, job);
  }

  /** Removes the job, and returns whether it waited. */
  cancel(id: string): boolean {
    return this.waiting.delete(id);
  }

  /** Takes out the jobs whose deadline is over, and puts those back that must run again by now. */
  letBack({ clock, snapshot }: RunTime): { expired: ExactJob[]; returned: ExactJob[] } {
    const jobs = [...this.waiting.values()];
    const expired = jobs.filter(({ notAfter }) => notAfter <= clock);
    for (const { id } of expired) this.waiting.delete(id);
    const isDue = ({ back, notBefore = 0, notAfter }: ExactJob) =>
      back === Infinity && notBefore <= clock && notAfter > clock;
    const returned = jobs.filter(isDue);
    for (const job of returned) Object.assign(job, { back: snapshot, round: this.roundAgain(job) });
    return { expired, returned };
  }

  /** When the next job comes back or expires. */
  dueAt(): number {
    const times = [...this.waiting.values()].map(({ back, notBefore = 0, notAfter }) =>
      Math.min(notAfter, back === Infinity ? notBefore : Infinity),
    );
    return Math.min(Infinity, ...times);
  }

  /** In a fair queue: a job that waits again is served with the lowest round, if any waits. */
  roundAgain({ priority }: ExactJob): number | undefined {
    const rounds = [...this.waiting.values()].flatMap((job) => (job.priority === priority ? (job.round ?? []) : []));
    return rounds.length > 0 ? Math.min(...rounds) : undefined;
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
   * The time at which the job starts if the buckets pay for it now; undefined if it has to wait.
   * @param granted - the start time that the queue gave it, which may be later if the bucket is split.
   * @param date - of a job that settles: when its tokens were taken.
   */
  pay(job: ExactJob, now: number, granted?: number, date?: number): number | undefined {
    const [own, second] = this.#ask(job, now, granted, date);
    if (own.startsAt === undefined || (second && second.startsAt === undefined)) return undefined;
    this.own.state = own.after;
    if (this.second) this.second.state = second?.after;
    return own.startsAt;
  }

  canPay(job: ExactJob, now: number): boolean {
    return this.#ask(job, now).every((one) => !one || one.startsAt !== undefined);
  }

  /** The answers of its own bucket and of the second one. */
  #ask({ count }: ExactJob, now: number, granted?: number, date?: number) {
    const own = this.own.ask({ count, reserve: this.#reserve(count, now), date }, now, granted);
    return [own, this.second?.ask({ count: this.rules.second?.count ?? 0, reserve: false }, now)] as const;
  }

  #reserve(count: number, now: number): Reserve {
    if (this.second) return false;
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
