/** Calls at once must answer as in some serial order: all orders are tried, those that go wrong early are not followed. */
import type { Call, Reply } from "./calls.js";
import { after, type Exact, type Setting, textOfExact } from "./oracle.js";

export interface Answered {
  readonly call: Call;
  readonly reply: Reply;
}

/** The states in which any order of the calls can have left the exact buckets; none when no order explains the replies. */
export function someOrder(states: readonly Exact[], answered: readonly Answered[], setting: Setting): Exact[] {
  // For each set of calls that have been made (a bit each), the states that they can have led to.
  let reached = new Map<number, Map<string, Exact>>([[0, distinct(states)]]);
  for (let made = 0; made < answered.length; made++) {
    const next = new Map<number, Map<string, Exact>>();
    for (const [set, exacts] of reached) {
      for (const [i, { call, reply }] of answered.entries()) {
        if (set & (1 << i)) continue;
        const into = next.get(set | (1 << i)) ?? new Map<string, Exact>();
        for (const exact of exacts.values()) {
          for (const then of after(exact, call, reply, setting)) into.set(textOfExact(then), then);
        }
        if (into.size > 0) next.set(set | (1 << i), into);
      }
    }
    reached = next;
  }
  return [...(reached.get((1 << answered.length) - 1)?.values() ?? [])];
}

function distinct(states: readonly Exact[]): Map<string, Exact> {
  return new Map(states.map((exact) => [textOfExact(exact), exact]));
}
