/**
 * Plants faults into a copy of src/, one at a time, and says which of them the fuzzer does not find:
 *
 *     npx tsx test/model/faults/main.ts          all of them
 *     npx tsx test/model/faults/main.ts 3 17     these
 *
 * A fault is a text that stands in a file exactly once, and what takes its place. FUZZ_OPERATIONS (default 30,000) and SEED
 * (default 1) say what is played.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { faults } from "./list.js";

const root = process.cwd();
const chosen = process.argv.slice(2).map(Number);
const copy = mkdtempSync(join(tmpdir(), "faults-"));
for (const path of ["src", "convex", "test", "example", "vitest.config.ts", "package.json", "tsconfig.json"]) {
  cpSync(join(root, path), join(copy, path), { recursive: true });
}
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));

function passes(): boolean {
  const tests = ["oneRow", "severalRows", "window"].map((each) => `test/model/${each}.test.ts`);
  const { status } = spawnSync("npx", ["vitest", "run", "--bail", "1", ...tests], {
    cwd: copy,
    env: { FUZZ_OPERATIONS: "30000", SEED: "1", ...process.env, FUZZ_SHRINK_MS: "0" },
  });
  return status === 0;
}

if (!passes())
  throw new Error("The fuzzer finds something without any fault, so nothing would follow from what it finds with one.");
let survivors = 0;
for (const [i, { name, file, from, to }] of faults.entries()) {
  if (chosen.length > 0 && !chosen.includes(i + 1)) continue;
  const path = join(copy, "src", file);
  const text = readFileSync(path, "utf8");
  if (text.split(from).length !== 2) {
    console.log(`${i + 1}. STALE     ${name}: the text does not stand in ${file} exactly once`);
    survivors++;
    continue;
  }
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
  const isFound = !passes();
  writeFileSync(path, text);
  if (!isFound) survivors++;
  console.log(`${i + 1}. ${isFound ? "found     " : "SURVIVED  "}${name} (${file})`);
}
rmSync(copy, { recursive: true });
console.log(survivors === 0 ? "All faults were found." : `${survivors} faults were not found.`);
process.exitCode = survivors === 0 ? 0 : 1;
