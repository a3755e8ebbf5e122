/**
 * `npm run bench:load` measures the time in which a function run loads its modules and makes one call, relative to an empty mutation.
 * Convex evaluates the modules of a function in a new context for every run. See docs/comparison.md#loading.
 *
 * `npm run bench:load -- --hold` instead writes load/held.json, which a test compares.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import vm from "node:vm";
import { isProgram, parseNumbers } from "./report/commandLine.js";
import { build, CASES, type Case, PROFILES, type Profile } from "./load/bundles.js";
import { countRan, type Ran } from "./load/ran.js";
import { callIn, globals } from "./load/sandbox.js";

/** Extra times, as multiples of the empty mutation's time: 0 is as fast as the empty mutation. */
export interface Load {
  readonly load: number;
  readonly call: number;
}

interface Sample {
  readonly script: vm.Script;
  readonly loads: number[];
  readonly calls: number[];
}

/**
 * Runs the cases in turns, so that a busy machine slows all of them alike. Each turn has an order of its own: a turn is about as
 * long as a time slice, so another process could otherwise interrupt the same case in most of the turns.
 */
export async function measureLoads(profile: Profile, cases: readonly Case[], runs: number): Promise<Map<Case, Load>> {
  const samples = new Map<Case, Sample>();
  for (const name of new Set<Case>(["empty", ...cases])) {
    const text = await build(name, profile);
    const cachedData = new vm.Script(text).createCachedData();
    samples.set(name, { script: new vm.Script(text, { cachedData }), loads: [], calls: [] });
  }
  for (let run = 0; run < runs; run++) {
    for (const [name, sample] of shuffled([...samples])) await runOnce(name, sample);
  }
  const empty = samples.get("empty");
  if (!empty) throw new Error("The empty mutation was not measured.");
  return new Map(
    cases.map((name) => {
      const { loads, calls } = samples.get(name) ?? empty;
      return [name, { load: over(loads, empty.loads), call: over(calls, empty.calls) }];
    }),
  );
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

async function runOnce(name: Case, { script, loads, calls }: Sample): Promise<void> {
  const context = vm.createContext(globals());
  const start = performance.now();
  script.runInContext(context);
  loads.push(performance.now() - start);
  await callIn(context, name);
  calls.push(performance.now() - start);
}

/** The ratio of the shortest times, minus 1. Other work of the machine only adds to a time, so the shortest has the least of it. */
const over = (times: readonly number[], base: readonly number[]): number => Math.min(...times) / Math.min(...base) - 1;

/** The figures that do not depend on the machine. `bytes` is the size of a minified bundle without convex. */
export interface Held extends Ran {
  readonly bytes: number;
}

export async function measureHeld(): Promise<Record<string, Held>> {
  const held: Record<string, Held> = {};
  for (const name of CASES) {
    const bytes = (await build(name, "minified", ["convex/*"])).length;
    held[name] = { ...(await countRan(name, "minified")), bytes };
  }
  return held;
}

export const HELD = new URL("load/held.json", import.meta.url);

async function print(runs: number): Promise<void> {
  for (const profile of PROFILES) {
    const loads = await measureLoads(profile, CASES, runs);
    const rows: Record<string, object> = {};
    for (const name of CASES) {
      const { load = 0, call = 0 } = loads.get(name) ?? {};
      const bytes = (await build(name, profile, ["convex/*"])).length;
      rows[name] = { load: load.toFixed(2), call: call.toFixed(2), ...(await countRan(name, profile)), bytes };
    }
    console.log(
      `Extra time, as a multiple of an empty mutation's: the shortest of ${runs} runs; bundler settings: ${profile}`,
    );
    console.table(rows);
  }
}

if (isProgram(import.meta.url)) {
  const { values } = parseArgs({ options: { runs: { type: "string", default: "300" }, hold: { type: "boolean" } } });
  if (values.hold) writeFileSync(HELD, `${JSON.stringify(await measureHeld(), null, 2)}\n`);
  else await print(parseNumbers(values.runs)[0] ?? NaN);
}
