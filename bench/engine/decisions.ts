/** Races the pure decision, which needs no database: it takes a state and a request, and returns an answer and a state. */
import { calculateRateLimit } from "@convex-dev/rate-limiter";
import { decide } from "../../src/engine/decide.js";
import { fullState } from "../../src/engine/kinds/kind.js";
import { demandOf } from "../../src/engine/request.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { WHOLE } from "../../src/engine/sharding/interval.js";
import { snapshotOf } from "../../src/engine/snapshot.js";
import { projectRateLimit } from "../../src/browser/project.js";
import { race, type Racer } from "./race.js";

const KINDS = ["token bucket", "fixed window"] as const;
const NOW = Date.UTC(2026, 0, 1);

/** The time between two decisions in ms. The limit lets half of them through. */
const STEP_MS = 50;

export async function raceDecisions(decisionsPerRound: number, rounds: number) {
  const results = [];
  for (const kind of KINDS) {
    results.push({ kind, standings: await race(racersOf(kind), { perRound: decisionsPerRound, rounds }) });
  }
  return results;
}

function racersOf(kind: (typeof KINDS)[number]): Racer[] {
  const config = { rate: 10, period: 1000, capacity: 20 };
  const ours = kind === "token bucket" ? { kind, ...config } : { kind, ...config, start: 0 };
  const limit = parseLimit("bench", ours);
  const demand = demandOf(limit, {});
  return [
    {
      name: "official calculateRateLimit",
      run: (count) => {
        let state: { value: number; ts: number } | null = null;
        let admitted = 0;
        for (let i = 0; i < count; i++) {
          const { value, ts } = calculateRateLimit(state, ours, NOW + i * STEP_MS, 1);
          if (value >= 0) {
            admitted++;
            state = { value, ts };
          }
        }
        return admitted;
      },
    },
    {
      name: "ours decide",
      run: (count) => {
        let state = fullState(limit);
        let admitted = 0;
        for (let i = 0; i < count; i++) {
          const { status, taken } = decide(limit, state, { now: NOW + i * STEP_MS, pausedUntil: 0 }, demand);
          if (status.ok) admitted++;
          state = taken ?? state;
        }
        return admitted;
      },
    },
    {
      name: "ours projectRateLimit",
      run: (count) => {
        const state = { value: 5 * limit.unitsPerToken, ts: NOW };
        const snapshot = snapshotOf(limit, [{ interval: WHOLE, limit, state }]);
        let admitted = 0;
        for (let i = 0; i < count; i++) if (projectRateLimit(snapshot, { now: NOW + i * STEP_MS }).ok) admitted++;
        return admitted;
      },
    },
  ];
}
