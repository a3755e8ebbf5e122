/** One run of the simulator: calls on one bucket at a given rate, and how each of them ended. */
import { componentsGeneric } from "convex/server";
import type { Design } from "../../../tools/simulator/design.js";
import { ours } from "../../../tools/simulator/ours.js";
import { peer } from "../../../tools/simulator/peer.js";
import type { Request } from "../../../tools/simulator/scenario.js";
import { simulate } from "../../../tools/simulator/simulation.js";
import { hit as hitOurs } from "../../convex/stage/hot.js";
import { type LaneName, type LaneResult, SECONDS, type Setting, type Slice } from "./lanes.js";
import { hit as hitOfficial } from "./official.js";

const SLICE_MS = 100;

type Component = Parameters<typeof hitOfficial>[0]["component"];
const { rateLimiter: component } = componentsGeneric() as unknown as { rateLimiter: Component };

export function designOf(lane: LaneName, shards: number): Design {
  if (lane === "official") {
    return {
      ...peer(shards),
      limit:
        ({ rate }) =>
        async (ctx) => {
          const { ok, retryAfter } = await hitOfficial({ ctx: ctx as never, component, rate, shards });
          return { ok, retryAt: retryAfter === undefined ? undefined : Math.ceil(Date.now() + retryAfter) };
        },
    };
  }
  return {
    ...ours("auto"),
    limit:
      ({ rate }) =>
      async (ctx) => {
        const { ok, retryAt } = await hitOurs(ctx as never, rate);
        return { ok, retryAt };
      },
  };
}

export async function runLane(lane: LaneName, { calls, shards }: Setting, seed = "stage"): Promise<LaneResult> {
  const slices: Slice[] = Array.from({ length: (SECONDS * 1000) / SLICE_MS }, () => ({
    first: 0,
    again: 0,
    failed: 0,
  }));
  const count = ({ atMs, call }: Request) => {
    const slice = slices[Math.floor(atMs / SLICE_MS)];
    if (!slice) return;
    if (call.outcome.kind !== "committed") slice.failed++;
    else if (call.attempts > 1) slice.again++;
    else slice.first++;
  };
  const metrics = await simulate(
    designOf(lane, shards),
    {
      limit: { kind: "token bucket", rate: calls, period: 1000, capacity: 2 * calls },
      callers: { kind: "open", pattern: "poisson", demand: calls, counts: { from: 1, to: 1 } },
      seconds: SECONDS,
    },
    { seed, onRequest: count },
  );
  // The run compares conflicts, so an error for another reason makes it useless.
  if (metrics.threw > 0) throw new Error(metrics.firstError);
  const { attemptsPerCall, failed, p99Ms, rowsAtEnd, overGrant } = metrics;
  return { lane, slices, calls: metrics.calls, attemptsPerCall, failed, p99Ms, rowsAtEnd, overGrant };
}
