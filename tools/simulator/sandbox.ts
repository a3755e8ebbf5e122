/**
 * The globals that production code uses, replaced while it runs: a clock that stands still, seeded randomness, and the one syscall
 * that has no ctx. Attempts run one at a time, each to its end, so one set of globals is enough.
 */
import type { Random } from "./random.js";

export interface Surroundings {
  readonly now: number;
  readonly random: Random;
  createFunctionHandle(reference: unknown): string;
}

let current: Surroundings | undefined;

export async function runWithin<Result>(surroundings: Surroundings, body: () => Promise<Result>): Promise<Result> {
  if (current) throw new Error("An attempt is running already.");
  const globals = globalThis as { Convex?: unknown };
  const convex = globals.Convex;
  install();
  globals.Convex = { asyncSyscall };
  current = surroundings;
  try {
    return await body();
  } finally {
    current = undefined;
    globals.Convex = convex;
  }
}

let simulated: { readonly now: () => number; readonly random: () => number } | undefined;

/**
 * Replaces `Date.now` and `Math.random` once, and again only if other code, such as a test, has replaced them. Replacing them for
 * every attempt took longer than the attempt. While no attempt runs, the replacements call the real functions.
 */
function install(): void {
  const { now, random } = { now: Date.now, random: Math.random };
  if (now === simulated?.now && random === simulated.random) return;
  simulated = {
    now: () => (current ? current.now : now()),
    random: () => (current ? current.random() : random()),
  };
  Date.now = simulated.now;
  Math.random = simulated.random;
}

async function asyncSyscall(name: string, args: string): Promise<string> {
  if (!current || name !== "1.0/createFunctionHandle") throw new Error(`The simulator has no ${name}.`);
  return await Promise.resolve(JSON.stringify(current.createFunctionHandle(referenceIn(args))));
}

/** Turns the address in the syscall's arguments back into a reference. */
function referenceIn(args: string): unknown {
  const { name, reference, functionHandle } = JSON.parse(args) as Record<string, string | undefined>;
  return functionHandle ?? name ?? { [Symbol.for("toReferencePath")]: reference };
}
