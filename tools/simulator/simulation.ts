/** One run: a limit, its callers, and the design that answers them. */
import { type Arrival, arrivals, herds } from "./arrivals.js";
import { Backend, type Seen } from "./backend.js";
import type { SimulatedCtx } from "./context.js";
import type { Answer, Ask, Design } from "./design.js";
import { type Metrics, measure } from "./metrics.js";
import { createRandom, type Random, wholeNumber } from "./random.js";
import type { Probes, Request, RunOptions, Scenario } from "./scenario.js";

/** One of this many denials is probed, so that the probes cover the run. */
const PROBE_EVERY = 7;

/** The number of users of a bundle. It is so large that hardly any concurrent calls share a user. */
const USERS = 100_000;

export async function simulate(design: Design, scenario: Scenario, options: RunOptions): Promise<Metrics> {
  const { limit, holdMs, bundleOf = 1, callers } = scenario;
  const resendsUntilMs = options.resends ? scenario.seconds * 1000 : 0;
  const backend = new Backend(design.app, { ...options, holdMs, resendsUntilMs });
  const keyed = callers.kind !== "open" || callers.keys !== undefined;
  let consume = design.limit(limit, design.shards, { keyed, bundleOf });
  for (const { atMs, shards } of scenario.changes ?? []) {
    backend.agenda.plan(atMs, () => {
      consume = design.limit(limit, shards, { keyed, bundleOf });
    });
  }
  const requests: Request[] = [];
  const probes: Probes = { asked: 0, sufficed: 0, nearly: 0 };
  const users: Random = createRandom(`${options.seed}/users`);
  let denials = 0;
  const ask = ({ key, count }: { key: string | undefined; count: number }, onEnd?: () => void) => {
    const user = bundleOf > 1 ? `user ${wholeNumber(users, 1, USERS)}` : undefined;
    const request: Ask = { key, count, user, ...(scenario.reserve ? { reserve: true } : {}) };
    const atMs = backend.agenda.nowMs;
    // An attempt after a change runs the changed code, and its denial is probed with the same code.
    const inUse = { consume };
    const body = async (ctx: SimulatedCtx) => {
      inUse.consume = consume;
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
        const request = { atMs, key, count, call };
        requests.push(request);
        options.onRequest?.(request);
        onEnd?.();
      },
      witness,
    );
  };
  const planned = start(scenario, options.seed, backend, ask);
  await backend.agenda.run(() => requests.length === planned() && backend.agenda.nowMs >= scenario.seconds * 1000);
  const rowsAtEnd = backend.store.count("rateLimits");
  return measure({ design, scenario, options, requests, probes, background: backend.background, rowsAtEnd });
}

type AskFor = (arrival: { key: string | undefined; count: number }, onEnd?: () => void) => void;

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
    const callAgain = () => {
      if (agenda.nowMs >= seconds * 1000) return;
      calls++;
      ask({ key, count: wholeNumber(sizes, from, to) }, () => {
        agenda.plan(agenda.nowMs + callers.thinkMs, callAgain);
      });
    };
    agenda.plan(0, callAgain);
  }
  return () => calls;
}
