/**
 * The deployment at work: every call is a mutation that takes its snapshot, waits for a permit, runs, commits or conflicts, and
 * runs again. An attempt's code runs to its end at the moment it gets its permit, on the snapshot from before; nothing in between
 * can reach it, so that is the same as running all along. It holds the permit for as long as its execution takes.
 */
import { Agenda } from "./agenda.js";
import { Committer } from "./committer.js";
import { addCost, type Cost, noCost } from "./cost.js";
import { Execution, type Job, type SimulatedCtx } from "./context.js";
import { type Component, Deployment, JOBS } from "./deployment.js";
import { Permits } from "./permits.js";
import { CLASSES, type ClassName, mostBackoffMs, PLATFORM, type PlatformClass } from "./platform.js";
import { createRandom, lognormal, type Random, uniform, wholeNumber } from "./random.js";
import { Store, type Writes } from "./store.js";
import { Transaction } from "./transaction.js";

export interface BackendOptions {
  readonly seed: string;
  /** Default S256. */
  readonly platform?: ClassName | PlatformClass | undefined;
  /** Attempts see clocks up to this far apart; default 0. */
  readonly skewMs?: number | undefined;
  /** The median of what an attempt takes beside its reads and hops; its p99 is five times as much. */
  readonly executionMs?: number | undefined;
  /**
   * Whether calls come from browsers, over a session that writes a row with every mutation, so that even a call that wrote
   * nothing is validated; else from actions. Default true.
   */
  readonly browser?: boolean | undefined;
  /**
   * Until when a browser whose call has used up its tries reconnects and sends it again, in ms since the start of the run;
   * default 0: never, and the caller gets the error, as an action does.
   */
  readonly resendsUntilMs?: number | undefined;
  /** What each attempt takes for work beside the limit; default 0. */
  readonly holdMs?: number | undefined;
  /** When the run begins, in ms since the epoch. */
  readonly epochMs?: number | undefined;
  /** Hears of each run of a scheduled function that is published, in the order of the commits. */
  readonly onJob?: ((job: Job, run: JobRun) => void) | undefined;
  /** Asked for each run of a scheduled function, when its code has run: whether its server dies, so that it has to run again. */
  readonly crashes?: (() => boolean) | undefined;
  /** Scheduled functions that are due within this time start at its end: a deploy. */
  readonly pause?: { readonly fromMs: number; readonly toMs: number } | undefined;
}

/** What a scheduled function did. */
export interface JobRun {
  readonly nowMs: number;
  readonly clock: number;
  /** The last commit that it saw. */
  readonly snapshot: number;
  readonly writes: Writes;
}

/** Midnight, so that windows of whole seconds, minutes and hours begin at the start of a run. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

type Outcome<Result> =
  | { readonly kind: "committed"; readonly value: Result }
  /** Every attempt conflicted. */
  | { readonly kind: "exhausted" }
  /** It waited too long for a permit. */
  | { readonly kind: "overloaded" }
  /** The code threw: a bug or misuse; the platform does not run it again. */
  | { readonly kind: "threw"; readonly error: unknown };

export interface Call<Result> {
  readonly outcome: Outcome<Result>;
  readonly attempts: number;
  /** How often the client sent it: more than once only after the platform gave it up. */
  readonly sends: number;
  readonly startedMs: number;
  readonly endedMs: number;
  /** When the code of the last attempt began: what it answered was true then. */
  readonly decidedMs: number;
  /** `Date.now()` of the last attempt. */
  readonly clock: number;
  /** Of all attempts. */
  readonly cost: Cost;
  readonly lastCost: Cost;
}

export type Body<Result> = (ctx: SimulatedCtx) => Promise<Result>;

/** An attempt that has run and has not committed. */
export interface Seen {
  readonly clock: number;
  readonly snapshot: number;
}

/** Looks on, at the end of each attempt's code, before its commit. */
export type Witness<Result> = (value: Result, seen: Seen) => Promise<void>;

export class Backend {
  readonly agenda = new Agenda();
  readonly store: Store;
  /** What scheduled functions cost. */
  readonly background: Cost & { runs: number } = { ...noCost(), runs: 0 };
  readonly #deployment: Deployment;
  readonly #delays: Random;
  readonly #permits: Permits;
  readonly #jobs: Permits;
  readonly #committer: Committer;
  #attempts = 0;
  #alone = 0;

  constructor(
    app: Component,
    readonly options: BackendOptions,
  ) {
    const { seed, platform = "S256" } = options;
    const figures = typeof platform === "string" ? CLASSES[platform] : platform;
    this.store = new Store(() => (this.options.epochMs ?? EPOCH_MS) + this.agenda.nowMs);
    this.#deployment = new Deployment(app);
    this.#deployment.createTables(this.store);
    this.#delays = createRandom(`${seed}/delays`);
    this.#permits = new Permits(this.agenda, figures.mutationPermits, PLATFORM.permitWaitMs);
    this.#jobs = new Permits(this.agenda, figures.jobsAtOnce, Infinity);
    this.#committer = new Committer(this.agenda, createRandom(`${seed}/persistence`), figures);
  }

  /** Plans a call for now; `onEnd` hears of it when it is over. */
  call<Result>(body: Body<Result>, onEnd: (call: Call<Result>) => void, witness?: Witness<Result>): void {
    const { browser = true, resendsUntilMs = 0, epochMs = EPOCH_MS } = this.options;
    const startedMs = this.agenda.nowMs;
    const cost = noCost();
    const last = { decidedMs: 0, clock: epochMs, cost: noCost() };
    let [attempts, sends, retries] = [0, 1, 0];
    const end = (outcome: Outcome<Result>) => {
      const isGivenUp = outcome.kind === "exhausted" || outcome.kind === "overloaded";
      if (isGivenUp && browser && this.agenda.nowMs < resendsUntilMs) {
        const mostMs = mostBackoffMs(PLATFORM.reconnection, sends - 1);
        sends++;
        retries = 0;
        this.#later(mostMs * uniform(this.#delays, 0.5, 1.5), attempt);
        return;
      }
      const { decidedMs, clock, cost: lastCost } = last;
      onEnd({ outcome, attempts, sends, startedMs, endedMs: this.agenda.nowMs, decidedMs, clock, cost, lastCost });
    };
    const attempt = () => {
      attempts++;
      this.#attempt(body, browser, {
        onRun: async (transaction, outcome) => {
          addCost(cost, transaction.cost);
          Object.assign(last, { decidedMs: this.agenda.nowMs, clock: transaction.now, cost: transaction.cost });
          const seen = { clock: transaction.now, snapshot: transaction.snapshot };
          if (witness && outcome.kind === "committed") await witness(outcome.value, seen);
        },
        onEnd: end,
        onConflict: () => {
          if (retries === PLATFORM.retries) end({ kind: "exhausted" });
          else this.#later(mostBackoffMs(PLATFORM.backoff, retries++) * this.#delays(), attempt);
        },
      });
    };
    attempt();
  }

  /** Runs `body` at a moment in a copy of the database where nobody else calls; nothing of it stays. */
  async runAlone<Result>(body: Body<Result>, clock: number, snapshot?: number): Promise<Result> {
    const transaction = new Transaction(this.store.fork(snapshot), clock);
    const random = createRandom(`${this.options.seed}/alone/${this.#alone++}`);
    return await new Execution(this.#deployment, transaction, random).run(body);
  }

  #later(delayMs: number, run: () => void | Promise<void>): void {
    this.agenda.plan(this.agenda.nowMs + delayMs, run);
  }

  #attempt<Result>(body: Body<Result>, writesAnyway: boolean, listener: Listener<Result>): void {
    const transaction = new Transaction(this.store, 0);
    this.#permits.acquire(
      () => {
        this.#later(0, async () => {
          await this.#run(transaction, body, writesAnyway, listener);
        });
      },
      () => {
        transaction.close();
        listener.onEnd({ kind: "overloaded" });
      },
    );
  }

  async #run<Result>(
    transaction: Transaction,
    body: Body<Result>,
    writesAnyway: boolean,
    { onRun, onEnd, onConflict, isLost }: Listener<Result>,
  ): Promise<void> {
    const { seed, skewMs = 0, epochMs = EPOCH_MS, holdMs = 0, executionMs = PLATFORM.execution.median } = this.options;
    transaction.now = epochMs + Math.floor(this.agenda.nowMs) + wholeNumber(this.#delays, -skewMs, skewMs);
    const random = createRandom(`${seed}/${this.#attempts++}`);
    const outcome = await settle(new Execution(this.#deployment, transaction, random).run(body));
    await onRun(transaction, outcome);
    const { readRounds, hops } = transaction.cost;
    const { median } = PLATFORM.execution;
    const ownMs = (lognormal(this.#delays, PLATFORM.execution) * executionMs) / median + holdMs;
    this.#later(ownMs + readRounds * PLATFORM.readMs + hops * PLATFORM.hopMs, () => {
      this.#permits.release();
      if (isLost?.()) {
        transaction.close();
        onConflict();
        return;
      }
      if (outcome.kind === "threw" || (transaction.writes.size === 0 && !writesAnyway)) {
        transaction.close();
        onEnd(outcome);
        return;
      }
      const jobs = [...transaction.writes].filter(([, { table }]) => table.endsWith(`/${JOBS}`));
      this.#committer.submit({
        transaction,
        extraBytes: writesAnyway ? PLATFORM.sessionRowBytes : 0,
        onPublished: () => {
          for (const [id, { document }] of jobs) this.#planJob(id, document as unknown as Job);
          onEnd(outcome);
        },
        onConflict,
      });
    });
  }

  /** A scheduled mutation runs once, and runs again for as long as it conflicts or gets no permit. */
  #planJob(id: string, { address, args, scheduledTime, state }: Job): void {
    if (state.kind !== "pending") return;
    const body = async (ctx: SimulatedCtx) => {
      const job = (await ctx.db.get(id)) as unknown as Job | null;
      if (job?.state.kind !== "pending") return;
      await ctx.execution.call(address, args, "mutation");
      await ctx.db.patch(id, { state: { kind: "success" } });
    };
    let retries = 0;
    const again = () => {
      this.#jobs.release();
      this.#later(mostBackoffMs(PLATFORM.jobBackoff, retries++) * this.#delays(), attempt);
    };
    const { onJob, crashes, pause } = this.options;
    const job = { address, args, scheduledTime, state };
    let last: Transaction;
    const attempt = () => {
      if (pause && this.agenda.nowMs >= pause.fromMs && this.agenda.nowMs < pause.toMs) {
        this.agenda.plan(pause.toMs, attempt);
        return;
      }
      this.#jobs.acquire(
        () => {
          this.#attempt(body, false, {
            isLost: crashes,
            onRun: async (transaction) => {
              last = transaction;
              addCost(this.background, transaction.cost);
              await Promise.resolve();
            },
            onEnd: (outcome) => {
              if (outcome.kind === "overloaded") {
                again();
                return;
              }
              this.#jobs.release();
              if (outcome.kind === "threw") throw outcome.error;
              this.background.runs++;
              const { now: clock, snapshot, writes } = last;
              onJob?.(job, { nowMs: this.agenda.nowMs, clock, snapshot, writes });
            },
            onConflict: again,
          });
        },
        () => undefined,
      );
    };
    const atMs = scheduledTime - (this.options.epochMs ?? EPOCH_MS);
    this.agenda.plan(Math.max(this.agenda.nowMs, atMs), attempt);
  }
}

/** Hears of one attempt: that its code ran, then how it ended, or that it has to run again. */
interface Listener<Result> {
  readonly onRun: (transaction: Transaction, outcome: Outcome<Result>) => Promise<void>;
  readonly onEnd: (outcome: Outcome<Result>) => void;
  readonly onConflict: () => void;
  readonly isLost?: (() => boolean) | undefined;
}

async function settle<Result>(running: Promise<Result>): Promise<Outcome<Result>> {
  try {
    return { kind: "committed", value: await running };
  } catch (error) {
    return { kind: "threw", error };
  }
}
