/** Many clients on one bucket: how long calls take, how many fail, and whether too much is let through. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import type { FunctionReturnType } from "convex/server";
import { api } from "../../stage/convex/_generated/api.js";
import type { Check, Effort } from "./check.js";
import { quantile } from "./latencies.js";
import { load, MOST_MS, mutate } from "./load.js";
import type { Predicted, PredictedLoad } from "./predict.js";

type Hit = FunctionReturnType<typeof api.prove.tables.hit>;

interface Design {
  readonly label: string;
  readonly place: "tables" | "official";
  /** For the official component this is the most: it refuses shards that hold less than a token. */
  readonly shards: number | "auto";
}

const DESIGNS: readonly Design[] = [
  { label: "one row", place: "tables", shards: 1 },
  { label: "auto", place: "tables", shards: "auto" },
  { label: "the official component, up to 16 shards", place: "official", shards: 16 },
];

/** The most seconds that the simulation of a load takes. */
const PREDICTION_SECONDS = 7;
/** How far the share of failures may be above the simulator's. */
const TOLERANCE = 0.01;

/** One check for each load and design. The full and the short effort have different loads, and so different checks. */
export function contention(effort: Effort): Check[] {
  return effort.loads.flatMap((load) => DESIGNS.map((design) => checkOf(load, design)));
}

function checkOf({ clients, perSecond }: Effort["loads"][number], { label, place, shards: most }: Design): Check {
  const bound = boundOf(perSecond);
  const shards = place === "official" && most !== "auto" ? Math.min(most, bound.rate) : most;
  return {
    subject: "Contention",
    name: `${perSecond} calls a second by ${clients} clients: ${label}`,
    expected:
      place === "official"
        ? "for comparison"
        : `over-grant 0${shards === "auto" ? ", and no more failures than simulated" : ""}`,
    notEmbedded: "it has one lock instead of conflicts",
    calls: ({ loadSeconds }) => perSecond * loadSeconds,
    seconds: ({ loadSeconds }) => loadSeconds + MOST_MS / 1000 + PREDICTION_SECONDS,
    run: async (prover) => {
      const seconds = prover.effort.loadSeconds;
      const predicted = await predict(prover.signal, {
        shards,
        place,
        perSecond,
        platform: prover.effort.platform,
        ...bound,
      });
      const asked = {
        secret: prover.secret,
        key: prover.key(place, "proof", `load-${place}-${shards}-${perSecond}`),
        ...bound,
        shards,
      };
      const { answers, latencies, calls, firstError } = await load(prover, { clients, perSecond, seconds }, (client) =>
        mutate(client, api.prove[place].hit, asked),
      );
      const failed = (calls - answers.length) / calls;
      const excess = overGrant(
        answers.filter(({ ok }) => ok),
        asked,
      );
      const figures = {
        calls,
        failed,
        overGrant: excess,
        p50Ms: quantile(latencies, 0.5),
        p99Ms: quantile(latencies, 0.99),
        simulatedFailed: predicted.failed,
        simulatedP50Ms: Math.round(predicted.p50Ms),
        simulatedP99Ms: Math.round(predicted.p99Ms),
      };
      const isWithin = shards !== "auto" || failed <= predicted.failed + TOLERANCE;
      return {
        seen: `p50 ${figures.p50Ms} ms, p99 ${figures.p99Ms} ms, ${percent(failed)} failed, over-grant ${excess} (simulated: ${figures.simulatedP50Ms} ms, ${figures.simulatedP99Ms} ms, ${percent(predicted.failed)})${firstError}`,
        holds: answers.length > 0 && (place === "official" || (excess === 0 && isWithin)),
        figures,
      };
    },
  };
}

/** The limit is two thirds of the load. Some calls are granted and some denied, and an over-grant would show. */
function boundOf(perSecond: number) {
  const rate = Math.ceil((2 * perSecond) / 3);
  return { rate, capacity: 2 * rate };
}

/** The tokens granted beyond the bound of a bucket, in the worst interval. */
export function overGrant(grants: readonly Hit[], { rate, capacity }: { rate: number; capacity: number }): number {
  const inOrder = grants.toSorted((a, b) => a.before - b.before);
  let most = 0;
  // How far the grants since the interval's first one are above the tokens refilled since then.
  let above = 0;
  let last: Hit | undefined;
  for (const grant of inOrder) {
    const refilled = last ? ((grant.after - last.before) / 1000) * rate : 0;
    above = Math.max(0, above - refilled) + 1;
    most = Math.max(most, above - capacity);
    last = grant;
  }
  return Math.max(0, Math.ceil(most - 1e-9));
}

export const percent = (share: number) => `${Math.round(share * 1000) / 10} %`;

/** Runs the simulator in its own process, because it stops the clock of its process. */
async function predict(signal: AbortSignal, load: PredictedLoad): Promise<Predicted> {
  const program = path.join(import.meta.dirname, "predict.ts");
  const args = [...process.execArgv, program, JSON.stringify(load)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { signal });
  return JSON.parse(stdout) as Predicted;
}
