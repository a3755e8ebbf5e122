/**
 * Mutation testing: plants faults into the source, one at a time, and runs the tests that reach each fault. The tests nearest to the
 * engine run first, and the others on what survives them.
 *
 *     npm run mutants                                         src/engine, src/storage and src/operations
 *     npm run mutants -- src/engine/kinds src/index.ts        these folders and files
 *     npm run mutants -- --sample 40 --seed 7                 only the faults on 40 lines of code, chosen by the seed
 *     npm run mutants -- --concurrency 2                      two faults at a time; default 1
 *     npm run mutants -- --tests test/engine/units.test.ts    only the tests of this glob
 *     npm run mutants -- --slow                               also faults in code that runs while a module loads, and slow tests
 *
 * Fails if a fault survives the tests and scripts/mutants/equivalent.json does not list it with a reason. Also fails if it lists a
 * fault that does not survive, or if no fault could be planted.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { isSame, listedAs, staleAmong, type Equivalent } from "./equivalent.js";
import { filesOf, sampleLines } from "./files.js";
import { printed, survivorsOf, withPlantedFaults } from "./faults.js";

const root = path.resolve(import.meta.dirname, "../..");
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    concurrency: { type: "string", default: "1" },
    tests: { type: "string" },
    slow: { type: "boolean", default: false },
    equivalent: { type: "string", default: "scripts/mutants/equivalent.json" },
  },
});

const files = filesOf(root, positionals.length > 0 ? positionals : ["src/engine", "src/storage", "src/operations"]);
const sampled = options.sample !== undefined;
const mutate = sampled ? sampleLines(root, files, Number(options.sample), Number(options.seed)) : files;
const { slow, tests = "near" } = options;
const concurrency = Number(options.concurrency);
const results = await withPlantedFaults({ mutate, tests, slow, concurrency });

const survivors = survivorsOf(root, results);
const equivalent = JSON.parse(readFileSync(path.join(root, options.equivalent), "utf8")) as Equivalent[];
let unlisted = survivors.filter((survivor) => !listedAs(survivor, equivalent));
const listed = survivors.length - unlisted.length;
if (tests === "near" && unlisted.length > 0) {
  const places = unlisted.map(({ place }) => place);
  const again = survivorsOf(root, await withPlantedFaults({ mutate: places, tests: "far", slow, concurrency }));
  unlisted = unlisted.filter((one) => again.some((other) => isSame(one, other)));
}
// A sample does not test all lines, so it cannot show that an entry is stale.
const untested = survivorsOf(root, results, ["Ignored"]);
const stale = sampled ? [] : staleAmong(equivalent, files, [...survivors, ...untested]);

for (const survivor of unlisted) console.log(`${printed(survivor)}\n`);
for (const { file, before } of stale) console.log(`listed as equivalent, but no survivor: ${file}: ${before}`);
console.log(
  `${results.length} faults: ${unlisted.length} survived, ${listed} are equivalent, ${stale.length} listed in vain`,
);
if (results.length === 0) console.log("No faults could be planted, so nothing was tested.");
process.exitCode = unlisted.length + stale.length > 0 || results.length === 0 ? 1 : 0;
