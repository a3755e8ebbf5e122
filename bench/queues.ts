/** `npm run bench:queues` measures callers that enqueue on one bucket, on the simulated backend. See bench/README.md. */
import { parseArgs } from "node:util";
import { isProgram, parseNumbers, versionLine } from "./report/commandLine.js";
import { markdownTable, percent } from "./report/markdown.js";
import { arrivals } from "../tools/simulator/arrivals.js";
import { Backend, type BackendOptions } from "../tools/simulator/backend.js";
import type { Job, SimulatedCtx } from "../tools/simulator/context.js";
import { addCost, noCost } from "../tools/simulator/cost.js";
import { ExactBucket, type Grant, overGrant } from "../tools/simulator/oracle.js";
import { CLASSES, type ClassName } from "../tools/simulator/platform.js";
import { job as jobFunction, queueApp } from "../tools/simulator/queues.js";
import { poolApp } from "../tools/simulator/workpool.js";

export interface QueueLoad {
  readonly place: "tables" | "component";
  readonly platform: ClassName;
  /** Jobs per second, of one token each. The limit lets four of five start. */
  readonly perSecond: number;
  readonly seconds: number;
  readonly seed: string;
}

/** The cost of jobs, in a queue or in a pool. */
interface CallerFigures {
  readonly jobs: number;
  readonly attemptsPerJob: number;
  /** The share of the callers whose calls the platform gave up on. */
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Function calls, including those of the callers and the runs of the jobs. */
  readonly callsPerJob: number;
  /**
   * Documents that all these calls read. Two reads of each scheduled function are not counted: the platform itself finds the
   * function by one, and records its end with the other.
   */
  readonly documentsPerJob: number;
}

export interface QueueFigures extends CallerFigures {
  /**
   * The mean time until a job is given its start time, in ms. It counts from the earliest possible time: the job's arrival or, if
   * that is later, one second before one exact bucket would start the job.
   */
  readonly meanDecidedMs: number;
  /** The share of the jobs that were overtaken by a job whose caller committed later. */
  readonly overtaken: number;
  /** The share of the jobs that were overtaken by a job whose caller began more than 50 ms later. */
  readonly begunBefore: number;
  /** The longest time in ms by which the caller of an overtaking job began later. */
  readonly mostBegunBeforeMs: number;
  /** The mean wait in ms, minus the mean wait in one exact bucket that serves first come, first served. */
  readonly extraWaitMs: number;
  /** Runs of the worker per second. */
  readonly runsPerSecond: number;
  /** Runs of jobs per second, until all jobs have run. */
  readonly jobsPerSecond: number;
  /** Tokens beyond the bound of the bucket. */
  readonly overGrant: number;
  /** Jobs that were accepted and never given a start time. */
  readonly lost: number;
}

const EPOCH_MS = Date.UTC(2026, 0, 1);

export async function runQueueLoad({ place, platform, perSecond, seconds, seed }: QueueLoad): Promise<QueueFigures> {
  const limit = { kind: "token bucket", rate: 0.8 * perSecond, period: 1000, capacity: 0.4 * perSecond } as const;
  const app = queueApp(place, limit, {});
  /** The time at which each job's caller began its last attempt, in ms since the start of the run, by the job's label. */
  const enqueued = new Map<number, number>();
  /** The rank of each job's commit, by the job's label. */
  const committed = new Map<number, number>();
  const taken: { label: number; runAt: number; decidedMs: number }[] = [];
  let runs = 0;
  let lastRanMs = 0;
  const backend = new Backend(app.app, {
    seed,
    platform,
    onJob: ({ address }, { nowMs, writes }) => {
      if (address.module === "jobs") lastRanMs = nowMs;
      if (address.module !== app.worker.module) return;
      runs++;
      for (const { table, document } of writes.values()) {
        const planned = document as unknown as Job | null;
        if (!table.endsWith("/_scheduled_functions") || planned?.address.module !== "jobs") continue;
        const { label } = planned.args[0] as { label: number };
        taken.push({ label, runAt: planned.scheduledTime - EPOCH_MS, decidedMs: nowMs });
      }
    },
  });
  const enqueue: Enqueue = (ctx, label) => app.enqueueRateLimited(ctx, { name: "llm" }, jobFunction, { label });
  const callers = planCallers(backend, { perSecond, seconds, seed }, enqueue, (label, clock) => {
    enqueued.set(label, clock - EPOCH_MS);
    committed.set(label, committed.size);
  });
  await backend.agenda.run();
  const exactOf = exactStarts(limit, enqueued);
  const known = taken.map((one) => ({
    ...one,
    at: enqueued.get(one.label) ?? NaN,
    exactAt: exactOf.get(one.label) ?? NaN,
  }));
  const late = lateness(known.map(({ at }) => at));
  const places = known.map(({ label }) => committed.get(label) ?? NaN);
  const grants: Grant[] = known.map(({ runAt }) => ({ atMs: runAt, count: 1 }));
  return {
    ...callers.figures(),
    meanDecidedMs: mean(known.map(({ at, exactAt, decidedMs }) => decidedMs - Math.max(at, exactAt - AHEAD_MS))),
    overtaken: shareOver(lateness(places), 0),
    begunBefore: shareOver(late, IN_ORDER_MS),
    mostBegunBeforeMs: Math.max(...late),
    extraWaitMs: mean(known.map(({ runAt, exactAt }) => runAt - exactAt)),
    runsPerSecond: runs / ((known.at(-1)?.decidedMs ?? 1) / 1000),
    jobsPerSecond: (1000 * known.length) / lastRanMs,
    overGrant: overGrant(limit, grants),
    lost: enqueued.size - known.length,
  };
}

type Enqueue = (ctx: SimulatedCtx, label: number) => Promise<unknown>;

/** Plans callers that arrive at random times, each with a job of one token. */
function planCallers(
  backend: Backend,
  { perSecond, seconds, seed }: Pick<QueueLoad, "perSecond" | "seconds" | "seed">,
  enqueue: Enqueue,
  onCommit?: (label: number, clock: number) => void,
) {
  let attempts = 0;
  let failed = 0;
  const cost = noCost();
  const latencies: number[] = [];
  const all = arrivals({ pattern: "poisson", demand: perSecond, seconds, counts: { from: 1, to: 1 }, seed });
  for (const [label, { atMs }] of all.entries()) {
    backend.agenda.plan(atMs, () => {
      backend.call(
        (ctx) => enqueue(ctx, label),
        ({ outcome, startedMs, endedMs, clock, attempts: tries, cost: ofCaller }) => {
          if (outcome.kind === "threw") throw outcome.error;
          addCost(cost, ofCaller);
          attempts += tries;
          latencies.push(endedMs - startedMs);
          if (outcome.kind === "committed") onCommit?.(label, clock);
          else failed++;
        },
      );
    });
  }
  const quantile = (share: number) => latencies[Math.ceil(share * latencies.length) - 1] ?? 0;
  const figures = (): CallerFigures => {
    const { runs, rowsRead, rowsReread } = backend.background;
    latencies.sort((a, b) => a - b);
    return {
      jobs: all.length,
      attemptsPerJob: attempts / all.length,
      failed: failed / all.length,
      p50Ms: quantile(0.5),
      p99Ms: quantile(0.99),
      callsPerJob: (attempts + runs) / all.length,
      documentsPerJob: (cost.rowsRead + cost.rowsReread + rowsRead + rowsReread - 2 * runs) / all.length,
    };
  };
  return { jobs: all.length, figures };
}

/** Runs the same callers with a Workpool, which has no rate, until all jobs have run. */
export async function runPoolLoad({ platform, ...load }: Omit<QueueLoad, "place">): Promise<CallerFigures> {
  const pool = poolApp(MOST_AT_ONCE);
  let ran = 0;
  const onJob: BackendOptions["onJob"] = ({ address }) => {
    if (address.name === "runMutationWrapper") ran++;
  };
  const backend = new Backend(pool.app, { seed: load.seed, platform, onJob });
  const callers = planCallers(backend, load, async (ctx, label) => await pool.enqueue(ctx, jobFunction, { label }));
  // The run needs an end, because a Workpool looks for lost jobs for ever.
  await backend.agenda.run(() => ran === callers.jobs);
  return callers.figures();
}

/** The largest number of parallel jobs that Workpool's documentation recommends. */
const MOST_AT_ONCE = 100;

/**
 * Schedules the jobs of such a load in one call, at the rate of the limit, and returns how many of them the platform runs per second.
 * No queue can make it run more.
 */
export async function jobsAlone({ platform, perSecond, seconds, seed }: QueueLoad): Promise<number> {
  const { app } = queueApp("tables", { kind: "token bucket", rate: 1, period: 1000 }, {});
  let lastRanMs = 0;
  const onJob: BackendOptions["onJob"] = (_, { nowMs }) => (lastRanMs = nowMs);
  const backend = new Backend(app, { seed, platform, onJob });
  const jobs = Math.ceil(0.8 * perSecond * seconds);
  const schedule = async ({ scheduler }: SimulatedCtx) => {
    for (let i = 0; i < jobs; i++) await scheduler.runAfter((1250 * i) / perSecond, jobFunction);
  };
  backend.call(schedule, () => undefined);
  await backend.agenda.run();
  return (1000 * jobs) / lastRanMs;
}

/** For each value, by how much the largest value before it is larger; 0 if none is larger. */
function lateness(values: readonly number[]): number[] {
  let most = -Infinity;
  return values.map((value) => Math.max(0, (most = Math.max(most, value)) - value));
}

function shareOver(values: readonly number[], bound: number): number {
  return values.filter((value) => !(value <= bound)).length / values.length;
}

/**
 * Jobs are queued in the order in which their callers commit. Callers begin in another order, by about the duration of their
 * transactions, so a difference of up to this many ms counts as in order.
 */
const IN_ORDER_MS = 50;

/** A job is given its start time about this many ms ahead. */
const AHEAD_MS = 1000;

/** The time at which one exact bucket would start each job, if it served the jobs in the order of their arrival. */
function exactStarts(
  limit: ConstructorParameters<typeof ExactBucket>[0],
  arrivals: ReadonlyMap<number, number>,
): Map<number, number> {
  const bucket = new ExactBucket(limit);
  const inOrder = [...arrivals].sort(([, a], [, b]) => a - b);
  return new Map(inOrder.map(([label, at]) => [label, at + bucket.charge({ atMs: at, count: 1 })]));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

const HELP = `npm run bench:queues -- [options]
  --rates      jobs a second, default 5,60,200,1000
  --seconds    virtual seconds, default 30
  --seed       default 1`;

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const options = { rates: text, seconds: text, seed: text, help: { type: "boolean" } } as const;
  const { values } = parseArgs({ options });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const { seed = "1" } = values;
  console.log(`Versions: ${versionLine()}. Seed: ${seed}.\n`);
  const rows: string[][] = [];
  const pools: string[][] = [];
  const seconds = Number(values.seconds ?? 30);
  for (const perSecond of parseNumbers(values.rates ?? "5,60,200,1000")) {
    for (const platform of Object.keys(CLASSES) as ClassName[]) {
      for (const place of ["tables", "component"] as const) {
        const load = { place, platform, perSecond, seconds, seed };
        rows.push(rowOf(load, await runQueueLoad(load)));
      }
      pools.push(poolRowOf(perSecond, platform, await runPoolLoad({ platform, perSecond, seconds, seed })));
    }
  }
  console.log(markdownTable(HEAD, rows));
  console.log(`\nThe same callers with Workpool, ${MOST_AT_ONCE} jobs at once, without a rate:\n`);
  console.log(markdownTable(POOL_HEAD, pools));
  for (const platform of Object.keys(CLASSES) as ClassName[]) {
    const { mutationPermits, jobsAtOnce } = CLASSES[platform];
    const most = await jobsAlone({ place: "tables", platform, perSecond: 1000, seconds: 5, seed });
    console.log(
      `With ${mutationPermits} permits Convex itself runs ${most.toFixed(0)} of 800 jobs a second that do nothing, ${jobsAtOnce} at once.`,
    );
  }
}

const HEAD = [
  "jobs a second",
  "permits",
  "attempts",
  "failed",
  "p50 ms",
  "p99 ms",
  "start given after ms",
  "overtaken",
  "overtaken by > 50 ms",
  "longest by ms",
  "wait over exact ms",
  "worker runs a second",
  "calls a job",
  "documents a job",
  "jobs run a second",
  "over-grant",
  "lost",
];

function rowOf({ place, platform, perSecond }: QueueLoad, figures: QueueFigures): string[] {
  return [
    `${perSecond} in the ${place}`,
    `${CLASSES[platform].mutationPermits}`,
    figures.attemptsPerJob.toFixed(3),
    percent(figures.failed),
    figures.p50Ms.toFixed(0),
    figures.p99Ms.toFixed(0),
    figures.meanDecidedMs.toFixed(0),
    percent(figures.overtaken, 3),
    percent(figures.begunBefore, 3),
    figures.mostBegunBeforeMs.toFixed(0),
    figures.extraWaitMs.toFixed(1),
    figures.runsPerSecond.toFixed(1),
    figures.callsPerJob.toFixed(2),
    figures.documentsPerJob.toFixed(1),
    figures.jobsPerSecond.toFixed(0),
    String(figures.overGrant),
    String(figures.lost),
  ];
}

const POOL_HEAD = [
  "jobs a second",
  "permits",
  "attempts",
  "failed",
  "p50 ms",
  "p99 ms",
  "calls a job",
  "documents a job",
];

function poolRowOf(perSecond: number, platform: ClassName, figures: CallerFigures): string[] {
  return [
    `${perSecond}`,
    `${CLASSES[platform].mutationPermits}`,
    figures.attemptsPerJob.toFixed(3),
    percent(figures.failed),
    figures.p50Ms.toFixed(0),
    figures.p99Ms.toFixed(0),
    figures.callsPerJob.toFixed(2),
    figures.documentsPerJob.toFixed(1),
  ];
}

if (isProgram(import.meta.url)) await main();
