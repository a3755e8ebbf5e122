/** The engine's decision as a bucket of one row meets it: one state in, at most one state out. */
import { decide } from "../../src/engine/decide.js";
import type { Demand } from "../../src/engine/request.js";
import { fullState, type Limit, type State } from "../../src/engine/kinds/kind.js";
import * as stored from "../../src/engine/units.js";

export { fullState as fullBucket };

export function decideWhole(limit: Limit, state: State, now: number, demand: Demand) {
  const { status, taken } = decide(limit, state, now, demand);
  return { status, next: taken };
}

export function fromStored(limit: Limit, state: stored.StoredState): State {
  return stored.fromStored(limit, state, undefined);
}
