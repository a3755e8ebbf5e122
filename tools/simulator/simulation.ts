/** One run: a limit, its callers, and the design that answers them. */
import { type Arrival, arrivals, herds } from "./arrivals.js";
import { Backend, type Call, type Seen } from "./backend.js";
import { Operations } from "./beside.js";
import type { SimulatedCtx } from "./context.js";
import type { Answer, Ask, Design, Shards } from "./design.js";
import { type Metrics, measure } from "./metrics.js";
import type { BucketConfig } from "./oracle.js";
import { createRandom, type Random, uniform, wholeNumber } from "./random.js";
import type { Probes, Request, RunOptions, Scenario } from "./scenario.js";

/** One of this many denials is probed, so that the probes cover the run. */
const PROBE_EVERY = 7;

/** The number of users of a bundle. It is so large that hardly any concurrent calls share a user. */
const USERS = 100_000;

export async function simulate(design: Design, scenario: Scenario, options: RunOptions): Promise<Metrics> {
  const { holdMs } = scenario;
  const resendsUntilMs = options.resends ? scenario.seconds * 1000 : 0;
  const backend = new Backend(design.app, { ...options, holdMs, resendsUntilMs });
  const code = deploys(design, scenario, backend);
  const operations = new Operations(backend, () => code.operate, scenario, options.seed);
  const requests: Request[] = [];
  const probes: Probes = { asked: 0, sufficed: 0, nearly: 0 };
  const users: Random = createRandom(`${options.seed}/users`);
  let denials = 0;
  const ask: AskFor = ({ key, count }, onEnd, sinceMs = backend.agenda.nowMs) => {
    const request = askOf(scenario, { key, count, users, nth: calls++ });
    const atMs = backend.agenda.nowMs;
    // An attempt after a change runs the changed code, and its denial is probed with the same code.
    const inUse = { consume: code.consume };
    const body = async (ctx: SimulatedCtx) => {
      inUse.consume = code.consume;
      return await inUse.consume(ctx, request);
    };
    const witness = async ({ ok, retryAt }: Answer, { snapshot }: Seen) => {
      if (ok || retryAt === undefined || probes.asked >= (scenario.probes ?? 0)) return;
      if (denials++ % PROBE_EVERY !== 0) return;
      probes.asked++;
      const isAdmitted = async (at: number) =>
        (await backend.runAlone((ctx) => inUse.consume(ctx, request), at, snapshot)).ok;
      if (await isAdmitted(retryAt)) probes.sufficed++;
      else if (await isAdmitted(retryAt + 1)) probes.nearly++;
    };
    backend.call(
      body,
      (call) => {
        const request = { atMs, sinceMs, key, count, call };
        requests.push(request);
        options.onRequest?.(request);
        operations.follow(request);
        onEnd?.(call);
      },
      witness,
    );
  };
  let calls = 0;
  const planned = start(scenario, options.seed, backend, ask);
  const isOver = () => requests.length === planned() && operations.isOver;
  await backend.agenda.run(() => backend.agenda.nowMs >= scenario.seconds * 1000 && isOver());
  const rowsAtEnd = backend.store.count("rateLimits");
  const { background } = backend;
  return measure({ design, scenario, options, requests, operations: operations.done, probes, background, rowsAtEnd });
}

/** The code of the last deploy. */
function deploys(design: Design, scenario: Scenario, { agenda }: Backend) {
  const { limit, callers, bundleOf = 1, plans } = scenario;
  const keyed = callers.kind !== "open" || callers.keys !== undefined;
  const build = (config: BucketConfig, shards: Shards) => ({
    consume: design.limit(config, shards, { keyed, bundleOf, plans }),
    operate: design.operate(config, shards, { keyed, bundleOf, plans }),
  });
  const code = build(limit, design.shards);
  for (const change of scenario.changes ?? []) {
    agenda.plan(change.atMs, () => {
      Object.assign(code, build(change.limit ?? limit, change.shards ?? design.shards));
    });
  }
  return code;
}

interface NthCall {
  readonly key: string | undefined;
  readonly count: number;
  readonly users: Random;
  readonly nth: number;
}

function askOf({ bundleOf = 1, plans, ...scenario }: Scenario, { key, count, users, nth }: NthCall): Ask {
  return {
    key,
    count,
    user: bundleOf > 1 ? `user ${wholeNumber(users, 1, USERS)}` : undefined,
    ...(scenario.reserve && { reserve: true }),
    ...(scenario.checks && { checks: true }),
    ...(scenario.refundable && { refundable: true }),
    ...(plans && { plan: nth % plans.length }),
  };
}

type AskFor = (
  arrival: { key: string | undefined; count: number },
  onEnd?: (call: Call<Answer>) => void,
  sinceMs?: number,
) => void;

/** Plans the first calls. Returns a function that returns the number of calls so far. */
function start({ callers, seconds }: Scenario, seed: string, { agenda }: Backend, ask: AskFor): () => number {
  // An event at the end keeps the run going for its whole time, even after the last call.
  agenda.plan(seconds * 1000, () => undefined);
  if (callers.kind !== "closed") {
    const all: Arrival[] =
      callers.kind === "open" ? arrivals({ ...callers, seconds, seed }) : herds({ ...callers, seed });
    for (const arrival of all) {
      agenda.plan(arrival.atMs, () => {
        ask(arrival);
      });
    }
    return () => all.length;
  }
  let calls = 0;
  const { from, to } = callers.counts;
  for (let caller = 0; caller < callers.callers; caller++) {
    const sizes = createRandom(`${seed}/caller/${caller}`);
    const key = callers.keys === "own" ? `caller ${caller}` : "shared";
    const callFor = (count: number, sinceMs: number) => {
      if (agenda.nowMs >= seconds * 1000) return;
      calls++;
      const onEnd = ({ outcome, clock, decidedMs }: Call<Answer>) => {
        const denial = outcome.kind === "committed" && !outcome.value.ok ? outcome.value : undefined;
        if (callers.obey && denial?.retryAt !== undefined) {
          const retryMs = Math.max(agenda.nowMs, decidedMs + denial.retryAt - clock);
          agenda.plan(retryMs, () => {
            callFor(count, sinceMs);
          });
        } else agenda.plan(agenda.nowMs + callers.thinkMs, callAgain);
      };
      ask({ key, count }, onEnd, sinceMs);
    };
    const callAgain = () => {
      callFor(wholeNumber(sizes, from, to), agenda.nowMs);
    };
    // Obedient callers begin apart: in an app they do not arrive together.
    agenda.plan(callers.obey ? uniform(sizes, 0, callers.thinkMs) : 0, callAgain);
  }
  return () => calls;
}
