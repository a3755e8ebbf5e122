/** Prints the simulator's prediction for one load as JSON: `tsx tools/prove/predict.ts '{ … }'`. */
import { ours } from "../simulator/ours.js";
import { peer } from "../simulator/peer.js";
import { simulate } from "../simulator/simulation.js";

export interface PredictedLoad {
  readonly place: "tables" | "official";
  readonly shards: number | "auto";
  readonly perSecond: number;
  readonly rate: number;
  readonly capacity: number;
  readonly platform: "S16" | "S256";
}

export interface Predicted {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failed: number;
}

const SECONDS = 5;

const { place, shards, perSecond, rate, capacity, platform } = JSON.parse(process.argv[2] ?? "") as PredictedLoad;
const design = place === "official" && shards !== "auto" ? peer(shards) : ours(shards);
const { p50Ms, p99Ms, failed } = await simulate(
  design,
  {
    limit: { kind: "token bucket", rate, period: 1000, capacity },
    callers: { kind: "open", pattern: "poisson", demand: perSecond, counts: { from: 1, to: 1 } },
    seconds: SECONDS,
  },
  { seed: "prove", platform },
);
console.log(JSON.stringify({ p50Ms, p99Ms, failed } satisfies Predicted));
