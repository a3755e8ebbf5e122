/**
 * The deployment at work: every call is a mutation that runs, commits or conflicts, and runs again. An attempt runs to its
 * end at the moment it begins, on the snapshot of that moment, and is validated and visible after its execution and commit
 * times; nothing in between can reach it, so that is the same as running all along.
 */
import { Agenda } from "./agenda.js";
import { addCost, type Cost, noCost } from "./cost.js";
import { Execution, type Job, type SimulatedCtx } from "./context.js";
import { type Component, Deployment, JOBS } from "./deployment.js";
import { createRandom, lognormal, type Random, uniform, wholeNumber } from "./random.js";
import { Store } from "./store.js";
import { Transaction } from "./transaction.js";

/** The platform's figures, where they were not measured on a deployment: those of the study (bench/README.md). */
export const PLATFORM = {
  execution: { median: 8, p99: 40 },
  commit: { from: 4, to: 12 },
  retries: 4,
  backoff: { firstMs: 100, mostMs: 2000 },
} as const;

export interface BackendOptions {
  readonly seed: string;
  /** Attempts see clocks up to this far apart; default 0. */
  readonly skewMs?: number | undefined;
  /**
   * Whether calls come from browsers, over a session that writes a row with every mutation, so that even a call that wrote
   * nothing is validated; else from actions. Default true.
   */
  readonly browser?: boolean | undefined;
  /** When the run begins, in ms since the epoch. */
  readonly epochMs?: number | undefined;
}

/** Midnight, so that windows of whole seconds, minutes and hours begin at the start of a run. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

export type Outcome<Result> =
  | { readonly kind: "committed"; readonly value: Result }
  /** Every attempt conflicted. */
  | { readonly kind: "exhausted" }
  /** The code threw: a bug or misuse; the platform does not run it again. */
  | { readonly kind: "threw"; readonly error: unknown };

export interface Call<Result> {
  readonly outcome: Outcome<Result>;
  readonly attempts: number;
  readonly startedMs: number;
  readonly endedMs: number;
  /** When the last attempt began: what it answered was true then. */
  readonly decidedMs: number;
  /** `Date.now()` of the last attempt. */
  readonly clock: number;
  readonly cost: Cost;
}

export type Body<Result> = (ctx: SimulatedCtx) => Promise<Result>;

/** Looks on, at the end of each attempt's code, before its commit. */
export type Witness<Result> = (value: Result, clock: number) => Promise<void>;

export class Backend {
  readonly agenda = new Agenda();
  readonly store = new Store();
  /** What scheduled functions cost. */
  readonly background: Cost & { runs: number } = { ...noCost(), runs: 0 };
  readonly #deployment: Deployment;
  readonly #delays: Random;
  readonly #browser: boolean;
  #attempts = 0;
  #alone = 0;

  constructor(
    app: Component,
    readonly options: BackendOptions,
  ) {
    this.#deployment = new Deployment(app);
    this.#deployment.createTables(this.store);
    this.#delays = createRandom(`${options.seed}/delays`);
    this.#browser = options.browser ?? true;
  }

  /** Plans a call for now; `onEnd` hears of it when it is over. */
  call<Result>(body: Body<Result>, onEnd: (call: Call<Result>) => void, witness?: Witness<Result>): void {
    this.#attempt({
      body,
      onEnd,
      witness,
      startedMs: this.agenda.nowMs,
      attempts: 0,
      decidedMs: 0,
      cost: noCost(),
      isJob: false,
    });
  }

  /** Runs `body` at a moment in a copy of the database where nobody else calls; nothing of it stays. */
  async runAlone<Result>(body: Body<Result>, clock: number): Promise<Result> {
    const transaction = new Transaction(this.store.fork(), clock);
    const random = createRandom(`${this.options.seed}/alone/${this.#alone++}`);
    return await new Execution(this.#deployment, transaction, random).run(body);
  }

  #attempt<Result>(call: Running<Result>): void {
    const { seed, skewMs = 0, epochMs = EPOCH_MS } = this.options;
    this.agenda.plan(this.agenda.nowMs, async () => {
      const skew = wholeNumber(this.#delays, -skewMs, skewMs);
      const clock = epochMs + Math.floor(this.agenda.nowMs) + skew;
      const transaction = new Transaction(this.store, clock);
      call.attempts++;
      call.decidedMs = this.agenda.nowMs;
      const random = createRandom(`${seed}/${this.#attempts++}`);
      const outcome = await settle(new Execution(this.#deployment, transaction, random).run(call.body));
      addCost(call.cost, transaction.cost);
      const { execution: time, commit } = PLATFORM;
      const endMs = this.agenda.nowMs + lognormal(this.#delays, time);
      if (outcome.kind === "threw") {
        transaction.close();
        this.agenda.plan(endMs, () => {
          this.#end(call, outcome, clock);
        });
        return;
      }
      if (call.witness && outcome.kind === "committed") await call.witness(outcome.value, clock);
      this.agenda.plan(endMs + uniform(this.#delays, commit.from, commit.to), () => {
        this.#commit(call, outcome, transaction);
      });
    });
  }

  #commit<Result>(call: Running<Result>, outcome: Outcome<Result>, transaction: Transaction): void {
    if (!transaction.hasConflict({ writesAnyway: this.#browser && !call.isJob })) {
      const jobs = [...transaction.writes].filter(([, { table }]) => table.endsWith(`/${JOBS}`));
      transaction.commit();
      for (const [id, { document }] of jobs) this.#planJob(id, document as unknown as Job);
      this.#end(call, outcome, transaction.now);
      return;
    }
    transaction.close();
    const { retries, backoff } = PLATFORM;
    if (call.attempts > retries && !call.isJob) {
      this.#end(call, { kind: "exhausted" }, transaction.now);
      return;
    }
    const mostMs = Math.min(backoff.firstMs * 2 ** (call.attempts - 1), backoff.mostMs);
    this.agenda.plan(this.agenda.nowMs + mostMs * this.#delays(), () => {
      this.#attempt(call);
    });
  }

  #end<Result>(call: Running<Result>, outcome: Outcome<Result>, clock: number): void {
    const { onEnd, attempts, startedMs, decidedMs, cost } = call;
    onEnd({ outcome, attempts, startedMs, decidedMs, endedMs: this.agenda.nowMs, clock, cost });
  }

  /** A scheduled mutation runs once, and runs again for as long as it conflicts. */
  #planJob(id: string, { address, args, scheduledTime, state }: Job): void {
    if (state.kind !== "pending") return;
    const atMs = scheduledTime - (this.options.epochMs ?? EPOCH_MS);
    this.agenda.plan(Math.max(this.agenda.nowMs, atMs), () => {
      const body = async (ctx: SimulatedCtx) => {
        const job = (await ctx.db.get(id)) as unknown as Job | null;
        if (job?.state.kind !== "pending") return;
        await ctx.execution.call(address, args, "mutation");
        await ctx.db.patch(id, { state: { kind: "success" } });
      };
      const onEnd = ({ outcome, cost }: Call<void>) => {
        if (outcome.kind === "threw") throw outcome.error;
        addCost(this.background, cost);
        this.background.runs++;
      };
      const startedMs = this.agenda.nowMs;
      this.#attempt({
        body,
        onEnd,
        witness: undefined,
        startedMs,
        attempts: 0,
        decidedMs: 0,
        cost: noCost(),
        isJob: true,
      });
    });
  }
}

interface Running<Result> {
  readonly body: Body<Result>;
  readonly onEnd: (call: Call<Result>) => void;
  readonly witness: Witness<Result> | undefined;
  readonly startedMs: number;
  readonly cost: Cost;
  readonly isJob: boolean;
  attempts: number;
  decidedMs: number;
}

async function settle<Result>(running: Promise<Result>): Promise<Outcome<Result>> {
  try {
    return { kind: "committed", value: await running };
  } catch (error) {
    return { kind: "threw", error };
  }
}
