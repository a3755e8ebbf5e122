/**
 * The running deployment. Every call is a mutation: an attempt takes its snapshot, waits for a permit, runs, and commits or
 * conflicts. After a conflict the call makes another attempt.
 *
 * An attempt's code runs to its end at the time at which it gets its permit, on its earlier snapshot. Later writes could not reach it
 * anyway, so the result is the same as if it ran during its whole execution time. It holds the permit for that time.
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
  /** The class of the deployment; default S256. */
  readonly platform?: ClassName | PlatformClass | undefined;
  /** The clock of each attempt is fast or slow by up to this many ms; default 0. */
  readonly skewMs?: number | undefined;
  /** The median of an attempt's time without its reads and hops, in ms. The p99 is five times as long. */
  readonly executionMs?: number | undefined;
  /**
   * Whether browsers make the calls; otherwise actions do. Default true. A browser's session writes a row with every mutation, so
   * even a call that wrote nothing is validated.
   */
  readonly browser?: boolean | undefined;
  /**
   * Until this time, in ms since the start of the run, a browser reconnects and resends a call that the platform gave up on.
   * With the default 0 no call is resent: the caller gets the error, as an action does.
   */
  readonly resendsUntilMs?: number | undefined;
  /** The time in ms that each attempt needs for work other than the limit's; default 0. */
  readonly holdMs?: number | undefined;
  /** The time at which the run begins, in ms since the epoch. */
  readonly epochMs?: number | undefined;
  /** Called for each published run of a scheduled function, in the order of the commits. */
  readonly onJob?: ((job: Job, run: JobRun) => void) | undefined;
  /** Called after the code of each run of a scheduled function. If it returns true, the server dies and the function runs again. */
  readonly crashes?: (() => boolean) | undefined;
  /** A deploy: scheduled functions that are due within this time start at its end. */
  readonly pause?: { readonly fromMs: number; readonly toMs: number } | undefined;
}

/** A published run of a scheduled function. */
export interface JobRun {
  readonly nowMs: number;
  readonly clock: number;
  /** The last commit that the run saw. */
  readonly snapshot: number;
  readonly writes: Writes;
}

/** A midnight, so that windows of whole seconds, minutes and hours begin at the start of a run. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);

type Outcome<Result> =
  | { readonly kind: "committed"; readonly value: Result }
  /** Every attempt conflicted. */
  | { readonly kind: "exhausted" }
  /** An attempt waited too long for a permit. */
  | { readonly kind: "overloaded" }
  /** The code threw, because of a bug or misuse. The platform does not run it again. */
  | { readonly kind: "threw"; readonly error: unknown };

export interface Call<Result> {
  readonly outcome: Outcome<Result>;
  readonly attempts: number;
  /** How often the client sent the call. It sends it again only after the platform gave up on it. */
  readonly sends: number;
  readonly startedMs: number;
  readonly endedMs: number;
  /** The time at which the code of the last attempt began. Its answer was true at that time. */
  readonly decidedMs: number;
  /** `Date.now()` of the last attempt. */
  readonly clock: number;
  /** The cost of all attempts. */
  readonly cost: Cost;
  /** The cost of the last attempt. */
  readonly lastCost: Cost;
}

export type Body<Result> = (ctx: SimulatedCtx) => Promise<Result>;

/** An attempt whose code has run and which has not committed. */
export interface Seen {
  readonly clock: number;
  readonly snapshot: number;
}

/** Called at the end of each attempt's code, before its commit. */
export type Witness<Result> = (value: Result, seen: Seen) => Promise<void>;

export class Backend {
  readonly agenda = new Agenda();
  readonly store: Store;
  /** The cost of scheduled functions, and the number of their runs. */
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

  /** Starts a call now, and calls `onEnd` when it has ended. */
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

  /** Runs `body` with the given clock in a copy of the database where no other call runs. Its writes are discarded. */
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

  /** Plans a scheduled mutation. It succeeds once, and runs again for as long as it conflicts or gets no permit. */
  #planJob(id: string, { address, args, scheduledTime, state }: Job): void {
    if (state.kind !== "pending") return;
    const body = async (ctx: SimulatedCtx) => {
      const job = (await ctx.db.get(id)) as unknown as Job | null;
      if (job?.state.kind !== "pending") return;
      await ctx.execution.call(address, args[0], "mutation");
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

/** The events of one attempt: its code has run, then it has ended or has to run again. */
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
