/**
 * Plants faults into a copy of src/, one at a time, and says which of them nothing finds:
 *
 *     npx tsx test/model/faults/main.ts          all of them
 *     npx tsx test/model/faults/main.ts 3 17     these
 *
 * A fault is a text that is in a file exactly once, and its replacement. The fuzzer, or the test that the list names, must find it.
 * FUZZ_OPERATIONS (default 30,000) and SEED (default 1) choose the operations.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { faults } from "./list.js";

const root = process.cwd();
const numbers = process.argv.slice(2).map(Number);
const chosen = [...faults.entries()].filter(([i]) => numbers.length === 0 || numbers.includes(i + 1));
const copy = mkdtempSync(join(tmpdir(), "faults-"));
cpSync(root, copy, { recursive: true, filter: (path) => !/[/](node_modules|[.]git|dist|coverage)$/.test(path) });
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));

const fuzzers = ["severalRows", "oneRow"].map((each) => `test/model/${each}.test.ts`);

/** Both places run the same operations, so one of them is enough. */
function passes(tests: readonly string[], places = ["-t", "in the tables"]): boolean {
  const { status } = spawnSync("npx", ["vitest", "run", "--bail", "1", ...tests, ...places], {
    cwd: copy,
    env: { FUZZ_OPERATIONS: "30000", SEED: "1", ...process.env, FUZZ_SHRINK_MS: "0" },
  });
  return status === 0;
}

if (chosen.some(([, { test }]) => test === undefined) && !passes(fuzzers))
  throw new Error("The fuzzer finds something without any fault, so nothing would follow from what it finds with one.");
let survivors = 0;
for (const [i, { name, file, from, to, test }] of chosen) {
  const path = join(copy, "src", file);
  const text = readFileSync(path, "utf8");
  if (text.split(from).length !== 2) {
    console.log(`${i + 1}. STALE     ${name}: the text does not stand in ${file} exactly once`);
    survivors++;
    continue;
  }
  const faulty = text.replace(from, () => to);
  writeFileSync(path, faulty);
  const isFound = test === undefined ? !passes(fuzzers) : !passes([test], []);
  writeFileSync(path, text);
  if (!isFound) survivors++;
  const by = test === undefined ? "" : ` by ${test}`;
  console.log(`${i + 1}. ${isFound ? "found     " : "SURVIVED  "}${name} (${file})${by}`);
}
rmSync(copy, { recursive: true });
console.log(survivors === 0 ? "All faults were found." : `${survivors} faults were not found.`);
process.exitCode = survivors === 0 ? 0 : 1;
