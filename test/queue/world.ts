/** A world for queues: many callers at once on the simulated backend. The exact queue gets every commit, in the order of the commits. */
import { inspect, isDeepStrictEqual } from "node:util";
import { Backend, type JobRun } from "../../tools/simulator/backend.js";
import type { Reserve } from "../support/exact/config.js";
import type { Job, SimulatedCtx } from "../../tools/simulator/context.js";
import { type Grant, overGrant } from "../../tools/simulator/oracle.js";
import { dropped, job as jobFunction, type QueueApp, queueApp, sweepFunction } from "../../tools/simulator/queues.js";
import { tableOf } from "../../tools/simulator/document.js";
import { createRandom, type Random, wholeNumber } from "../../tools/simulator/random.js";
import { adjust, isJoined, leftAt, type State, undo } from "../support/exact/bucket.js";
import { minus, rational } from "../support/rational.js";
import { type ExactBucket, type ExactJob, ExactQueue, type Rules, type RunTime } from "./exactQueue.js";

export interface Setting extends Rules {
  readonly place: "tables" | "component";
  /** On several rows each owes for itself, so times differ from those of one bucket. No interval gets more than one bucket gives. */
  readonly shards?: number | "auto" | { readonly atLeast: number } | undefined;
  /** The number of operations, each at a random time, in bursts and with pauses. */
  readonly operations: number;
  /** The shares of the operations that are not jobs. */
  readonly cancels: number;
  readonly plain: number;
  /** The share of the operations that use the second limit. */
  readonly ofSecond?: number;
  /** The share of changes by hand: deleted rows of workers, cancelled runs, jobs whose function is gone, sweeps. There are as many deploys. */
  readonly damages: number;
  /** The share of jobs that return `used`. */
  readonly settles: number;
  readonly skewMs: number;
  /** The share of worker runs whose server dies before they commit. */
  readonly crashes: number;
  readonly pause?: { readonly fromMs: number; readonly toMs: number } | undefined;
  readonly users: number;
  readonly mostCount: number;
  readonly spanMs: number;
  /** Operations come one by one instead, with pauses about as long as a worker lingers. */
  readonly isSparse?: boolean;
}

function demand(holds: boolean, what: string, seen: unknown = ""): void {
  if (!holds) throw new Error(`${what} ${inspect(seen)}`);
}

const queueOf = ({ priorities, aging, fair, second }: Setting, attempts: number) => {
  const withSecond = second && { with: { second: second.count } };
  return { priorities, aging, fair, attempts, ...withSecond };
};

export type Told = ReturnType<World["told"]>;

export async function play(setting: Setting, seed: string): Promise<Told> {
  const { limit, place, shards } = setting;
  const config = Object.fromEntries(Object.entries({ ...limit, shards }).filter(([, value]) => value !== undefined));
  const { second } = setting;
  const queue = queueOf(setting, ATTEMPTS);
  const other = second && Object.fromEntries(Object.entries(second.limit).filter(([, value]) => value !== undefined));
  const app = queueApp(place, config as never, queue, other as never);
  const world = new World(setting, app, seed);
  await world.run();
  return world.told();
}

class World {
  readonly #exact: ExactQueue;
  readonly #random: Random;
  readonly #backend: Backend;
  readonly #handles: { id: string; name: string }[] = [];
  /** The ids of the jobs' first rows, by label. */
  readonly #ids = new Map<string, string>();
  /** The ids of the first rows of jobs that wait again, by the ids of their later rows. */
  readonly #firstIds = new Map<string, string>();
  /** How often each job was taken, and how often it has run, by label. */
  readonly #takes = new Map<string, number>();
  readonly #runs = new Map<string, number>();
  /** How often a job may run by the apps that were deployed, and until when their functions may run. */
  readonly #attempts = [{ most: ATTEMPTS, untilMs: Infinity }];
  /** Why jobs were dropped, by label; and what `onDropped` has heard. */
  readonly #drops: string[] = [];
  readonly #heard: string[] = [];
  readonly #counts = {
    jobs: 0,
    /** Jobs that have run, and do not run again. */
    ran: 0,
    canceled: 0,
    tooLate: 0,
    positions: 0,
    /** Jobs that were taken before an older one of a lower priority. */
    overtaken: 0,
    settled: 0,
    /** How often jobs have waited again, and how often they did from a time on. */
    again: 0,
    later: 0,
    /** Uses of the second limit besides jobs. */
    ofSecond: 0,
    /** Pauses of the limit. */
    paused: 0,
    /** Jobs that left while they waited: all, and those after their deadlines. */
    dropped: 0,
    expired: 0,
    damaged: 0,
    deployed: 0,
    /** Runs of the worker that have paid from several rows. */
    split: 0,
  };
  #chain: { generation: number; nextAt: number | undefined } = { generation: 0, nextAt: undefined };
  /** Generations that a newer one has followed. */
  readonly #over = new Set<number>();
  /** Jobs whose functions are gone. */
  readonly #broken = new Set<string>();
  #ended = 0;
  /** Whether somebody has cancelled a planned run. */
  #isBroken = false;
  readonly #isWhole: boolean;
  /** Whether tokens come back to a bucket of several rows. If not, its grants are judged by the bound of one. */
  readonly #isGiven: boolean;
  readonly #grants: Grant[] = [];
  /** Jobs that have been paid for. */
  readonly #paid = new Map<string, ExactJob>();
  /** Ended jobs that wait for the worker to settle them, by the ids of their rows. */
  readonly #unsettled = new Map<string, Settling>();

  constructor(
    readonly setting: Setting,
    readonly app: QueueApp,
    seed: string,
  ) {
    this.#exact = new ExactQueue(setting);
    this.#isWhole = setting.shards === undefined;
    this.#isGiven = this.#isWhole || setting.settles > 0;
    this.#random = createRandom(`${seed}/world`);
    const crash = createRandom(`${seed}/crashes`);
    this.#backend = new Backend(app.app, {
      seed,
      skewMs: setting.skewMs,
      crashes: () => crash() < setting.crashes,
      pause: setting.pause,
      onJob: (job, run) => {
        this.#onJob(job, run);
      },
    });
  }

  async run(): Promise<void> {
    const { operations, spanMs, isSparse } = this.setting;
    // Bursts: half of the operations fall into a tenth of the time.
    for (let i = 0; i < operations; i++) {
      const burstMs = (i % 2 === 0 ? 0.1 * this.#random() + 0.3 : this.#random()) * spanMs;
      const atMs = isSparse ? i * 350 + this.#random() * 200 : burstMs;
      this.#backend.agenda.plan(atMs, () => {
        this.#operate(i);
      });
    }
    await this.#backend.agenda.run();
    await this.#heal();
    demand(this.#ended === operations, "operations are missing", this.#ended);
    demand(this.#exact.waiting.size === 0, "jobs still wait after the last event", [...this.#exact.waiting.values()]);
    if (!this.#isGiven) this.#checkBound();
    demand(isDeepStrictEqual(this.#runs, this.#takes), "a job must run once each time it is taken");
    demand(isDeepStrictEqual(this.#heard.sort(), this.#drops.sort()), "onDropped must hear of each drop once");
    demand(this.#backend.store.count("rateLimitQueue") === 0, "rows are left");
  }

  #checkBound(): void {
    const { limit, skewMs } = this.setting;
    const config = { ...limit, capacity: limit.kind === "sliding window" ? limit.rate : limit.capacity };
    const over = overGrant(config, this.#grants, skewMs);
    demand(over === 0, "no interval may get more than one bucket gives", over);
  }

  /** If a chain of runs was broken, a caller a minute later restarts it, and then all jobs run. */
  async #heal(): Promise<void> {
    if (this.#exact.waiting.size + this.#unsettled.size === 0) return;
    demand(this.#isBroken, "jobs wait although no chain of runs was broken");
    this.#ended--;
    this.#backend.agenda.plan(this.#backend.agenda.nowMs + 61_000, () => {
      this.#enqueue(this.setting.operations);
    });
    await this.#backend.agenda.run();
  }

  told() {
    return this.#counts;
  }

  #operate(i: number): void {
    const { cancels, plain, damages } = this.setting;
    const drawn = this.#random();
    if (drawn > 1 - damages) this.#damage();
    else if (drawn > 1 - 2 * damages) this.#deploy();
    else if (drawn < cancels && this.#handles.length > 0) this.#cancel();
    else if (drawn < cancels + plain) this.#use("llm");
    else if (drawn < cancels + plain + (this.setting.ofSecond ?? 0)) this.#use("second");
    else this.#enqueue(i);
  }

  #enqueue(i: number): void {
    const { priorities, users, fair, mostCount } = this.setting;
    const priority = wholeNumber(this.#random, 0, priorities - 1);
    const count = wholeNumber(this.#random, 1, mostCount);
    const user = fair ? `user ${Math.floor(users * this.#random() ** 2)}` : undefined;
    const used = this.#random() < this.setting.settles ? wholeNumber(this.#random, 0, 2 * mostCount) : undefined;
    const now = EPOCH_MS + this.#backend.agenda.nowMs;
    const isRefused = used !== undefined && this.#random() < 0.7;
    const againUntil = isRefused ? now + 10_000 * this.#random() : 0;
    const after = isRefused && this.#random() < 0.6 ? { after: 3000 * this.#random() ** 2 } : {};
    const notAfter = this.#random() < 0.15 ? now + 6000 * this.#random() : Infinity;
    const args = {
      name: "llm",
      count,
      priority,
      onDropped: dropped,
      ...(notAfter < Infinity && { notAfter }),
      ...(user !== undefined && { fairBy: user }),
      ...(used !== undefined && { settles: "mutation" }),
    };
    this.#call(
      (ctx) =>
        this.app.enqueueRateLimited(ctx, args, jobFunction, {
          label: i,
          ...(used !== undefined && { used, againUntil, ...after }),
        }),
      (status) => {
        if (!status.ok) throw new Error("a queue without a bound has denied");
        this.#counts.jobs++;
        this.#handles.push(status.job);
        this.#ids.set(String(i), status.job.id);
        const commit = this.#backend.store.published;
        const { id } = status.job;
        const at = this.#backend.store.table(tableOf(id)).get(id, commit)?.["at"];
        this.#exact.enqueue({ id, at: at as bigint, commit, priority, count, user, notAfter });
      },
    );
  }

  #cancel(): void {
    const job = this.#handles[Math.floor(this.#random() * this.#handles.length)];
    this.#call(
      async (ctx) => {
        const position = await this.app.getQueued(ctx, job);
        return { position, ...(await this.app.cancelQueued(ctx, job)) };
      },
      ({ canceled, position }) => {
        const waiting = this.#exact.waiting.get(job?.id ?? "");
        demand((position !== null) === (waiting !== undefined), "getQueued must find exactly the waiting jobs");
        if (position) {
          this.#counts.positions++;
          const isExact =
            waiting?.back === Infinity
              ? isDeepStrictEqual(position, { startsAt: waiting.notBefore })
              : (position.ahead ?? NaN) < this.#exact.waiting.size;
          demand(isExact, "the place must be exact", { position, waiting });
        }
        demand(canceled === this.#exact.cancel(job?.id ?? ""), "only a waiting job can be cancelled", job);
        this.#counts[canceled ? "canceled" : "tooLate"]++;
      },
    );
  }

  #deploy(): void {
    const most = wholeNumber(this.#random, 1, ATTEMPTS);
    const untilMs = this.#backend.agenda.nowMs + 1000;
    for (const one of this.#attempts) one.untilMs = Math.min(one.untilMs, untilMs);
    this.#attempts.push({ most, untilMs: Infinity });
    this.app.deploy(queueOf(this.setting, most));
    this.#ended++;
    this.#counts.deployed++;
  }

  /** Whether a job has run as often as it may; undefined if it depends on which app's function has run. */
  #isLast(runs: number): boolean | undefined {
    const { agenda, store } = this.#backend;
    const known = store.table(`${this.app.worker.component}/rateLimitQueueTerms`).documents(store.published);
    const stored = [...known].map(({ terms }) => JSON.parse(terms as string) as { queue: { attempts: number } });
    // The component knows the terms of the last call.
    const permitted =
      this.setting.place === "component"
        ? stored.map(({ queue }) => queue.attempts)
        : this.#attempts.flatMap(({ most, untilMs }) => (untilMs > agenda.nowMs ? [most] : []));
    const lasts = permitted.map((most) => runs >= most);
    return lasts.includes(!lasts[0]) ? undefined : lasts[0];
  }

  #damage(): void {
    const job = this.#handles[Math.floor(this.#random() * this.#handles.length)];
    const drawn = this.#random();
    this.#call(
      async (ctx) => {
        const db = this.app.rowsOf(ctx);
        if (drawn < 0.1) {
          await this.app.sweepRateLimits(ctx, { next: sweepFunction });
          return "sweep";
        }
        if (drawn < 0.4) {
          for (const { _id } of await db.query("rateLimitWorkers").collect()) await db.delete(_id);
          return "worker";
        }
        if (drawn < 0.6) {
          const planned = (await db.query("_scheduled_functions").collect()) as unknown as (Job & { _id: string })[];
          const runs = planned.filter(
            ({ address, args: [args], state }) =>
              this.#isRun(address) && !isJob(address, args) && state.kind === "pending",
          );
          for (const { _id } of runs) await db.patch(_id, { state: { kind: "canceled" } });
          return "run";
        }
        const waiting = job && (await db.get("rateLimitQueue", job.id));
        // A job that settles is scheduled in its wrapper, which would fail and keep the job's count.
        if (!waiting || waiting["settles"] !== undefined) return undefined;
        await db.patch("rateLimitQueue", job.id, { fn: "function://gone" });
        return "job";
      },
      (changed) => {
        if (changed) this.#counts.damaged++;
        // The chain that runs next restores the row and continues, even if a newer one had replaced it.
        if (changed === "worker") this.#over.clear();
        if (changed === "job" && job) this.#broken.add(job.id);
        this.#isBroken ||= changed === "run";
      },
    );
  }

  /** One of the other uses of a limit: take, reserve, refund, charge, pause, reset. */
  #use(name: "llm" | "second"): void {
    const bucket = name === "llm" ? this.#exact.own : this.#exact.second;
    if (!bucket) throw new Error("There is no second limit.");
    const { limit } = bucket;
    // Only a queue or a reservation may ask for more than a full bucket.
    const held = limit.kind === "sliding window" ? limit.rate : limit.capacity;
    const count = wholeNumber(this.#random, 1, Math.min(name === "llm" ? this.setting.mostCount : 3, held));
    // Fewer operations use the second limit, so more of them are pauses and resets.
    const rare = name === "second" ? 0.15 : this.#isWhole ? 0.1 : 0.05;
    const drawn = this.#random();
    if (name === "second") this.#counts.ofSecond++;
    const isRefund = this.#isGiven && drawn < 0.5 + 0.7 * (0.5 - 2 * rare);
    if (drawn < 0.5) this.#take(name, bucket, count, drawn < 0.15 ? { within: 500 } : false);
    else if (drawn < 1 - 2 * rare) this.#adjust(name, bucket, isRefund ? -count : count);
    else if (drawn < 1 - rare || !this.#isGiven) this.#pause(name, bucket);
    else this.#reset(name, bucket);
  }

  #take(name: string, bucket: ExactBucket, count: number, reserve: Reserve): void {
    this.#call(
      (ctx) => this.app.rateLimit(ctx, { name, count, reserve }),
      (status, clock) => {
        const granted = status.ok ? status.retryAt : undefined;
        if (!this.#isWhole) {
          if (status.ok) this.#grants.push({ atMs: granted ?? clock, count });
          return;
        }
        const { startsAt, after } = bucket.ask({ count, reserve }, clock, granted);
        const said = { status, startsAt, clock };
        const isGranted = startsAt !== undefined;
        demand(status.ok === isGranted, "a plain call must be answered by the same bucket", said);
        if (!status.ok || !isGranted) return;
        this.#checkStart(bucket, status.retryAt ?? clock, startsAt, said);
        bucket.state = after;
      },
    );
  }

  /** Pauses the limit, as after a provider's 429: for 300 ms, or for 2,500 ms, which the worker sleeps through. */
  #pause(name: string, bucket: ExactBucket): void {
    const ms = this.#random() < 0.5 ? 300 : 2500;
    this.#call(
      async (ctx) => {
        const until = Date.now() + ms;
        await this.app.pauseRateLimit(ctx, { name, until });
        return until;
      },
      (until) => {
        bucket.pause(until - ms, until);
        this.#counts.paused++;
      },
    );
  }

  #reset(name: string, bucket: ExactBucket): void {
    this.#call(
      async (ctx) => {
        await this.app.resetRateLimit(ctx, { name });
        const rows = await this.app.rowsOf(ctx).query("rateLimits").collect();
        const controls = rows.flatMap((row) => (row["name"] === name && row["control"] ? [row["control"]] : []));
        return (controls[0] as { reset?: { at: number } } | undefined)?.reset?.at;
      },
      (datedAt, clock) => {
        bucket.reset(clock, datedAt);
      },
    );
  }

  #adjust(name: string, bucket: ExactBucket, count: number): void {
    this.#call(
      async (ctx) => {
        const before = await this.app.getRateLimit(ctx, { name });
        await this.app.adjustRateLimit(ctx, { name, count });
        return !isDeepStrictEqual(before, await this.app.getRateLimit(ctx, { name }));
      },
      (isWritten, clock) => {
        if (this.#isWhole) adjustExact(bucket, count, clock, isWritten);
      },
    );
  }

  /** Checks that on one row work starts exactly when an exact bucket starts it; not before, if its log has joined times. */
  #checkStart({ state }: ExactBucket, given: number, exact: number, seen: unknown): void {
    const isExact = !isJoined(state);
    demand(isExact ? given === exact : given >= exact, "the start time must be the exact bucket's", {
      given,
      exact,
      seen,
    });
  }

  /** Calls, and calls again if the platform gives up, as a client does. */
  #call<Result>(body: (ctx: SimulatedCtx) => Promise<Result>, onDone: (result: Result, clock: number) => void): void {
    this.#backend.call(body, ({ outcome, clock }) => {
      if (outcome.kind === "threw") throw outcome.error;
      if (outcome.kind !== "committed") {
        this.#call(body, onDone);
        return;
      }
      this.#ended++;
      onDone(outcome.value, clock);
    });
  }

  #onJob({ address, args: [args], scheduledTime }: Job, { clock, snapshot, writes }: JobRun): void {
    if (address.name === "dropped") {
      const { args: of, reason } = args as { args: { label: number }; reason: string };
      this.#heard.push(`${of.label} ${reason}`);
      return;
    }
    if (isJob(address, args)) {
      const label = labelOf(args);
      const ran = (this.#runs.get(label) ?? 0) + 1;
      demand(ran === this.#takes.get(label), "a job ran that was not taken", args);
      this.#runs.set(label, ran);
      this.#counts.ran++;
      if (address.module === "jobs") return;
      const { job: ended } = args as { job: Settling };
      const waiting = rowsIn(writes, "rateLimitQueue").find(([, row]) => row?.["priority"] === SETTLEMENT);
      if (waiting) this.#unsettled.set(waiting[0], ended);
      else this.#settle([ended], clock, writes);
      this.#waitAgain(ended.args, ran, clock, writes);
      return;
    }
    if (!this.#isRun(address)) return;
    const { run: started } = args as { run: { generation: number; most?: number } };
    const exact = this.#exact;
    const deleted = rowsIn(writes, "rateLimitQueue").flatMap(([id, row]) => (row ? [] : [id]));
    const settled = deleted.flatMap((id) => this.#unsettled.get(id) ?? []);
    const gone = deleted.flatMap((id) => (this.#unsettled.delete(id) ? [] : [this.#firstIds.get(id) ?? id]));
    const planned = plannedIn(writes);
    const scheduled = planned.filter(({ address, args: [args] }) => isJob(address, args));
    const taken = scheduled.map(({ args: [args] }) => this.#ids.get(labelOf(args)) ?? "");
    const dropped = gone.filter((id) => !taken.includes(id));
    demand(gone.length === taken.length + dropped.length, "the jobs that are scheduled must leave the queue", taken);
    // A run of an older generation does nothing.
    const isPlanned = planned.some(({ state }) => state.kind === "pending");
    const plans = isPlanned || rowsIn(writes, "rateLimitWorkers").length > 0;
    demand(plans || taken.length === 0, "a run of an older generation took jobs", taken);
    if (!plans) return;
    this.#settle(settled, clock, writes, taken);
    const run = { clock, snapshot };
    this.#letBack(dropped, run, writes);
    if (this.setting.fair) this.#sortIn(run, writes, taken);
    for (const [i, id] of taken.entries()) {
      this.#drop(dropped, run, id);
      this.#pay(id, scheduled[i], run);
    }
    this.#drop(dropped, run);
    demand(dropped.length === 0, "a job was dropped before its turn", dropped);
    const runs = planned.filter((one) => this.#isRun(one.address) && !scheduled.includes(one));
    const next = runs.flatMap((one) => (one.state.kind === "pending" ? [one.scheduledTime] : []));
    this.#checkChain(started, scheduledTime, next);
    const dueAt = exact.dueAt();
    const isInTime = dueAt === Infinity || (next[0] ?? Infinity) <= Math.max(dueAt, clock) + MOST_BATCH_MS;
    demand(isInTime, "the worker must look when a job must run again, or expires", { dueAt, clock, next });
    const { most = LEAST_JOBS } = started;
    const share = Math.min(most, Math.floor(MOST_READ / this.setting.priorities));
    if (taken.length > 0 && isSplit(writes)) this.#counts.split++;
    // Several rows may hold less than the exact bucket.
    if (gone.length >= share || !this.#isWhole || isJoined(exact.own.state)) return;
    // If several jobs arrived in one commit, any of them may be the one that waits.
    const first = exact.first(run);
    const isStuck = first.length === 0 || first.some((job) => !exact.canPay(job, clock));
    demand(isStuck, "the worker left a job that could be paid", { first, taken: taken.length });
  }

  #pay(id: string, scheduled: Job | undefined, run: RunTime): void {
    const exact = this.#exact;
    const job = exact.waiting.get(id);
    if (!job || !scheduled) throw new Error(`${id} was taken and does not wait`);
    demand(exact.first(run).includes(job), "another job was first", { job, first: exact.first(run) });
    const isOvertaking = ({ commit, priority }: ExactJob) => commit < job.commit && priority < job.priority;
    if ([...exact.waiting.values()].some(isOvertaking)) this.#counts.overtaken++;
    const { clock } = run;
    if (this.#isWhole) {
      const { job: settling } = scheduled.args[0] as { job?: Settling };
      const runAt = exact.pay(job, clock, scheduled.scheduledTime, settling?.takenAt);
      if (runAt === undefined) throw new Error("the exact bucket could not pay");
      this.#checkStart(exact.own, scheduled.scheduledTime, runAt, job);
    } else this.#grants.push({ atMs: scheduled.scheduledTime, count: job.count });
    exact.waiting.delete(id);
    this.#paid.set(id, job);
    const label = labelOf(scheduled.args[0]);
    this.#takes.set(label, (this.#takes.get(label) ?? 0) + 1);
  }

  /** Jobs leave after their deadlines, and come back at the time from which they must run again. */
  #letBack(dropped: string[], run: RunTime, writes: JobRun["writes"]): void {
    const { expired, returned } = this.#exact.letBack(run);
    for (const { id } of expired) {
      demand(dropped.includes(id), "a job must be dropped at its deadline", id);
      dropped.splice(dropped.indexOf(id), 1);
      this.#noteDrop(id, "expired");
      this.#counts.dropped++;
      this.#counts.expired++;
    }
    for (const { id, at, priority } of returned) {
      const [, row] = rowsIn(writes, "rateLimitQueue").find(([rowId]) => this.#firstIds.get(rowId) === id) ?? [];
      const isLast = this.#isLast(this.#runs.get(this.#labelOf(id)) ?? 0);
      if (dropped.includes(id) && isLast !== false) {
        this.#exact.waiting.delete(id);
        dropped.splice(dropped.indexOf(id), 1);
        this.#noteDrop(id, "attempts");
        this.#counts.dropped++;
        continue;
      }
      const isBack = row === null || (row?.["at"] === at && row["priority"] === priority);
      demand(isLast !== true && isBack, "a job must wait in its place when its time has come", { id, row });
    }
  }

  #noteDrop(id: string, reason: string | undefined): void {
    this.#drops.push(`${this.#labelOf(id)} ${reason}`);
  }

  #labelOf(id: string): string {
    return [...this.#ids].find(([, first]) => first === id)?.[0] ?? "";
  }

  /** Jobs whose functions are gone leave when they are first, and take no tokens. @param before - a job that was taken. */
  #drop(dropped: string[], run: RunTime, before?: string): void {
    for (;;) {
      const first = this.#exact.first(run);
      const job = first.find(({ id }) => dropped.includes(id) && this.#broken.has(id));
      if (!job || first.some(({ id }) => id === before)) return;
      demand(!this.#isWhole || this.#exact.canPay(job, run.clock), "a job was dropped before its time", job);
      dropped.splice(dropped.indexOf(job.id), 1);
      this.#exact.waiting.delete(job.id);
      this.#noteDrop(job.id, "function missing");
      this.#counts.dropped++;
    }
  }

  #isRun({ component, module, name }: Job["address"]): boolean {
    const { worker } = this.app;
    return component === worker.component && module === worker.module && name === "workQueue";
  }

  #waitAgain(
    { label, againUntil = 0, after = 0 }: Settling["args"],
    runs: number,
    clock: number,
    writes: JobRun["writes"],
  ) {
    if (clock >= againUntil) return;
    const first = this.#ids.get(String(label)) ?? "";
    const ended = this.#paid.get(first);
    if (!ended) throw new Error("a job that was never paid has run");
    const notBefore = after > 0 ? Math.ceil(clock + after) : 0;
    const rows = rowsIn(writes, "rateLimitQueue").filter(([, row]) => row?.["priority"] !== SETTLEMENT);
    const isLast = this.#isLast(runs);
    const isLate = notBefore > ended.notAfter;
    if (rows.length === 0 && (isLast !== false || isLate)) {
      const [said] = plannedIn(writes).flatMap(({ args: [args] }) => (args as { reason?: string }).reason ?? []);
      this.#noteDrop(first, isLast === undefined && isLate ? said : isLast !== false ? "attempts" : "expired");
      return;
    }
    demand(isLast !== true && !isLate, "a job that may not run again is dropped", rows);
    const [[id, document] = ["", null]] = rows;
    demand(rows.length === 1 && document !== null, "a job that must run again must wait in one row", rows);
    const at = ended.at - 1n;
    demand(document?.["at"] === at, "a job that must run again keeps its place", { document, ended });
    this.#firstIds.set(id, first);
    const back = notBefore > 0 ? Infinity : this.#backend.store.published;
    const round = notBefore > 0 ? undefined : this.#exact.roundAgain(ended);
    this.#exact.enqueue({ ...ended, at, back, notBefore, round });
    this.#counts.ran--;
    this.#counts.again++;
    if (notBefore > 0) this.#counts.later++;
  }

  /** The settlements of one transaction. Each may have several results: the row says which it was, less what a run then paid. */
  #settle(settled: readonly Settling[], clock: number, writes: JobRun["writes"], taken: readonly string[] = []): void {
    const { own, waiting } = this.#exact;
    const { limit } = own;
    this.#counts.settled += settled.length;
    if (!this.#isWhole || settled.length === 0) return;
    const resultsOf = (state: State, { count, args: { used }, at, takenAt }: Settling) => {
      if (used >= count) return [used === count ? state : adjust(limit, state, clock, used - count).after];
      return undo(limit, state, clock, count - used, { takenAt, promised: Math.max(at, takenAt) });
    };
    const possible = settled.reduce(
      (states: State[], one) => states.flatMap((state) => resultsOf(state, one)),
      [own.state],
    );
    const [[, row] = []] = bucketRowsIn(writes);
    const paid = taken.reduce((sum, id) => sum + (waiting.get(id)?.count ?? 0), 0);
    const left = row ? rational(Number(row["value"])) : leftAt(limit, own.state, clock);
    const held = minus(left, rational(-paid));
    const found = possible.findIndex(
      (state) => isJoined(state) || isDeepStrictEqual(leftAt(limit, state, clock), held),
    );
    demand(found >= 0, "a settlement must charge or give back as much as an exact one", { held, possible });
    // Units that come back and are paid again at once are not written.
    if (row || paid > 0) own.state = possible[found];
  }

  /** Each run that does something was planned by the run before it, or is the first of a new generation. */
  #checkChain({ generation }: { generation: number }, scheduledTime: number, next: readonly number[]): void {
    const isNewStart = generation !== this.#chain.generation;
    demand(!this.#over.has(generation), "a run of an older generation continued", generation);
    if (isNewStart) this.#over.add(this.#chain.generation);
    demand(isNewStart || this.#chain.nextAt === scheduledTime, "two chains of runs continue in parallel", generation);
    demand(next.length <= 1, "a run planned several runs", next);
    this.#chain = { generation, nextAt: next[0] };
  }

  #sortIn(run: RunTime, writes: JobRun["writes"], taken: readonly string[]): void {
    const given = new Map<string, number>();
    // If a user sent two jobs in one commit, the job that is taken in this run was the first.
    const first = new Map(taken.map((id, i) => [id, i - taken.length]));
    for (const [id, document] of rowsIn(writes, "rateLimitQueue")) {
      const round = document?.["round"];
      if (typeof round === "number") given.set(this.#firstIds.get(id) ?? id, round);
    }
    this.#exact.sortIn(run, new Map([...given, ...first]));
    for (const [id, round] of given) {
      const job = this.#exact.waiting.get(id);
      demand(job?.round === round, "a job must get the next round of its user", { job, round });
    }
  }
}

function adjustExact(bucket: ExactBucket, count: number, clock: number, isWritten: boolean): void {
  const { after } = adjust(bucket.limit, bucket.state, clock, count);
  if (count < 0) giveBack(bucket, after, clock, isWritten);
  else bucket.state = after;
}

/** A refund that has nothing to give back writes nothing, so the time of the bucket stays. */
function giveBack(bucket: ExactBucket, after: State, clock: number, isWritten: boolean): void {
  // A bucket with a short memory may undo a take in part, or not at all.
  if (isWritten || isJoined(after)) bucket.state = after;
  else {
    const [before, now] = [bucket.state, after].map((state) => leftAt(bucket.limit, state, clock));
    demand(isDeepStrictEqual(before, now), "a refund must give back as much as the exact bucket", { before, now });
  }
}

/** The rows that a transaction wrote into a table, by their ids; null for deleted rows. */
function rowsIn(writes: JobRun["writes"], name: string) {
  return [...writes].flatMap(([id, { table, document }]) =>
    table.endsWith(`/${name}`) ? [[id, document] as const] : [],
  );
}

/** Those of the queue's own bucket. */
function bucketRowsIn(writes: JobRun["writes"]) {
  return rowsIn(writes, "rateLimits").filter(([, row]) => row?.["name"] !== "second");
}

function plannedIn(writes: JobRun["writes"]): Job[] {
  return rowsIn(writes, "_scheduled_functions").flatMap(([, document]) => (document as unknown as Job | null) ?? []);
}

/** The jobs that a run reads: of each priority if the run before sets no `most`, and of all. From src/queue/worker.ts and batch.ts. */
const LEAST_JOBS = 16;
/** A worker that runs looks again by then. From src/queue/pace.ts. */
const MOST_BATCH_MS = 400;
const MOST_READ = 256;
const EPOCH_MS = Date.UTC(2026, 0, 1);

/** The priority of a row that is a settlement. */
const SETTLEMENT = -1;

/** How often a job may run (`queue.attempts`). */
const ATTEMPTS = 3;

/** Whether a run is a job's, by itself or in the worker's wrapper. */
function isJob({ module, name }: Job["address"], args: unknown): boolean {
  return (module === "jobs" && name === "run") || (args as { job?: Settling }).job !== undefined;
}

interface Settling {
  readonly count: number;
  readonly at: number;
  readonly takenAt: number;
  readonly args: {
    readonly label: number;
    readonly used: number;
    readonly againUntil?: number;
    readonly after?: number;
  };
}

function labelOf(args: unknown): string {
  const { job } = args as { job?: Settling };
  const { label } = job ? job.args : (args as Settling["args"]);
  return String(label);
}

function isSplit(writes: JobRun["writes"]): boolean {
  const rows = bucketRowsIn(writes);
  return rows.length > 1 || rows.some(([, document]) => document?.["shard"] !== undefined);
}
