/** Calls at once must answer as in some serial order. All orders are tried, and those that are wrong early are given up. */
import type { Call, Reply } from "./calls.js";
import { after, type Exact, type Setting, textOfExact } from "./oracle.js";

export interface Answered {
  readonly call: Call;
  readonly reply: Reply;
}

/** The states in which any order of the calls can have left the exact buckets; none when no order explains the replies. */
export function someOrder(states: readonly Exact[], answered: readonly Answered[], setting: Setting): Exact[] {
  // For each set of calls that have been made (a bit each), the states that they can have led to.
  let reached = new Map<number, readonly Exact[]>([[0, states]]);
  while (!reached.has((1 << answered.length) - 1) && reached.size > 0) {
    const next = new Map<number, Exact[]>();
    for (const [set, exacts] of reached) {
      for (const [i, { call, reply }] of answered.entries()) {
        if (set & (1 << i)) continue;
        const into = exacts.flatMap((exact) => after(exact, call, reply, setting));
        if (into.length > 0) next.set(set | (1 << i), [...(next.get(set | (1 << i)) ?? []), ...into]);
      }
    }
    reached = new Map([...next].map(([set, exacts]) => [set, distinct(exacts)]));
  }
  return [...(reached.get((1 << answered.length) - 1) ?? [])];
}

function distinct(states: readonly Exact[]): readonly Exact[] {
  if (states.length < 2) return states;
  return [...new Map(states.map((exact) => [textOfExact(exact), exact])).values()];
}
