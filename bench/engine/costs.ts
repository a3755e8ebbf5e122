/** The database cost of one call while no other call runs. It is counted, not measured. */
import { Backend } from "../../tools/simulator/backend.js";
import { type Cost, noCost } from "../../tools/simulator/cost.js";
import { type Design, UNKEYED } from "../../tools/simulator/design.js";
import { ours } from "../../tools/simulator/ours.js";
import { peer, peerAsynchronous } from "../../tools/simulator/peer.js";

export interface CallCost {
  readonly label: string;
  readonly situation: "first call" | "allowed" | "denied";
  /** The mean over the calls in this situation. */
  readonly cost: Cost;
  readonly calls: number;
}

const DESIGNS: readonly Design[] = [
  ours(1),
  ours(1, "component"),
  ours(16),
  ours(16, "component"),
  peer(1),
  peer(16),
  peerAsynchronous(),
];

/** The calls before counting starts: enough that all of 16 shards are in use. */
const WARM_UP = 400;
const CAPACITY = 640;

export async function countCosts(): Promise<CallCost[]> {
  const costs: CallCost[] = [];
  for (const design of DESIGNS) costs.push(...(await costsOf(design)));
  return costs;
}

async function costsOf(design: Design): Promise<CallCost[]> {
  const backend = new Backend(design.app, { seed: "cost" });
  const consume = design.limit(
    { kind: "token bucket", rate: 1, period: 1e9, capacity: CAPACITY },
    design.shards,
    UNKEYED,
  );
  const totals = new Map<CallCost["situation"], { cost: Cost; calls: number }>();
  for (let i = 0; i < CAPACITY + 200; i++) {
    backend.agenda.plan(i * 1000, () => {
      backend.call(
        (ctx) => consume(ctx, { count: 1 }),
        ({ outcome, attempts, cost }) => {
          if (outcome.kind !== "committed" || attempts > 1) throw new Error(`${design.label}: ${outcome.kind}`);
          // Not counted: the first calls find shards without rows, and the last tokens of a sharded limit cost more.
          if (i > 0 && i < WARM_UP) return;
          if (outcome.value.ok && i >= CAPACITY - 100) return;
          const situation = i === 0 ? "first call" : outcome.value.ok ? "allowed" : "denied";
          const total = totals.get(situation) ?? { cost: noCost(), calls: 0 };
          totals.set(situation, total);
          total.calls++;
          for (const key of Object.keys(cost) as (keyof Cost)[]) total.cost[key] += cost[key];
        },
      );
    });
  }
  await backend.agenda.run(() => backend.agenda.nowMs > (CAPACITY + 201) * 1000);
  return [...totals].map(([situation, { cost, calls }]) => {
    for (const key of Object.keys(cost) as (keyof Cost)[]) cost[key] /= calls;
    return { label: design.label, situation, cost, calls };
  });
}
