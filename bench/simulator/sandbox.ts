/**
 * What production code takes from its surroundings, replaced while it runs: a clock that stands still, seeded randomness, and
 * the one syscall that has no ctx. Attempts run one at a time, each to its end, so one set of globals is enough.
 */
import type { Random } from "./random.js";

export interface Surroundings {
  readonly now: number;
  readonly random: Random;
  readonly createFunctionHandle: (reference: unknown) => string;
}

let busy = false;

export async function runWithin<Result>(
  { now, random, createFunctionHandle }: Surroundings,
  body: () => Promise<Result>,
): Promise<Result> {
  if (busy) throw new Error("An attempt is running already.");
  busy = true;
  const globals = globalThis as { Convex?: unknown };
  const before = { now: Date.now, random: Math.random, convex: globals.Convex };
  Date.now = () => now;
  Math.random = random;
  globals.Convex = {
    asyncSyscall: async (name: string, args: string) => {
      if (name !== "1.0/createFunctionHandle") throw new Error(`The simulator has no ${name}.`);
      return await Promise.resolve(JSON.stringify(createFunctionHandle(syscallReference(args))));
    },
  };
  try {
    return await body();
  } finally {
    Date.now = before.now;
    Math.random = before.random;
    globals.Convex = before.convex;
    busy = false;
  }
}

/** The syscall carries an address; what made it is a reference again. */
function syscallReference(args: string): unknown {
  const { name, reference, functionHandle } = JSON.parse(args) as Record<string, string | undefined>;
  return functionHandle ?? name ?? { [Symbol.for("toReferencePath")]: reference };
}
