/** Runs StrykerJS, which plants the faults and runs the tests that reach each, and reads its results. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { type MutantResult } from "@stryker-mutator/api/core";
import { Stryker } from "@stryker-mutator/core";

interface Run {
  /** Files, or lines of files: `src/engine/units.ts`, `src/engine/units.ts:10-12`. */
  readonly mutate: readonly string[];
  /** `near` or `far`, the two groups of vitest.config.ts, or a glob of test files. */
  readonly tests: string;
  /** Whether the slow files also run, and faults in code that runs while a module loads: each needs all tests. */
  readonly slow: boolean;
  readonly concurrency: number;
}

export async function withPlantedFaults({ mutate, tests, slow, concurrency }: Run): Promise<MutantResult[]> {
  // If another run of the tests started this one, its report and settings must not be used.
  for (const name of Object.keys(process.env)) {
    if (/^(VITEST|COVERAGE)/.test(name)) Reflect.deleteProperty(process.env, name);
  }
  process.env["MUTANTS_TESTS"] = tests;
  if (slow) process.env["MUTANTS_SLOW"] = "1";
  return new Stryker({
    configFile: "scripts/mutants/stryker.json",
    mutate: [...mutate],
    concurrency,
    ignoreStatic: !slow,
  }).runMutationTest();
}

/** A fault that all tests passed with, or that no test reaches. */
export interface Survivor {
  readonly file: string;
  readonly line: number;
  /** As StrykerJS takes it: `src/engine/units.ts:10:4-10:20`. */
  readonly place: string;
  /** The whole lines without the fault (`after`: with it). Each run of white space is one space. */
  readonly before: string;
  readonly after: string;
}

/** @param statuses - those of StrykerJS; by default of the faults that survived. */
export function survivorsOf(
  root: string,
  results: readonly MutantResult[],
  statuses: readonly string[] = ["Survived", "NoCoverage"],
): Survivor[] {
  const survivors = results.filter(({ status }) => statuses.includes(status));
  return survivors.map(({ fileName, location, replacement }) => {
    const file = path.relative(root, path.resolve(root, fileName)).split(path.sep).join("/");
    const lines = readFileSync(path.join(root, file), "utf8").split("\n");
    // Lines and columns count from 1.
    const { start, end } = location;
    const whole = lines.slice(start.line - 1, end.line);
    const head = (whole[0] ?? "").slice(0, start.column - 1);
    const tail = (whole.at(-1) ?? "").slice(end.column - 1);
    return {
      file,
      line: start.line,
      place: `${file}:${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`,
      before: oneLine(whole.join("\n")),
      after: oneLine(head + replacement + tail),
    };
  });
}

export function printed({ file, line, before, after }: Survivor): string {
  return `${file}:${line}\n- ${before}\n+ ${after}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
