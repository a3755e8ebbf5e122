/** `npm run bench:contention` compares the real code of both libraries under simulated conflicts. See bench/README.md. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { drawContention } from "./contention/picture.js";
import type { Case } from "./contention/case.js";
import { CASE_NAMES, type CaseName, CASES } from "./contention/scenarios.js";
import { type CaseResult, renderCase } from "./contention/tables.js";
import { isProgram, parseChoices, parseNumbers, versionLine, versions } from "./report/commandLine.js";
import type { Design, Shards } from "../tools/simulator/design.js";
import { ours } from "../tools/simulator/ours.js";
import { peer, peerAsynchronous } from "../tools/simulator/peer.js";
import { type ClassName, PLATFORM } from "../tools/simulator/platform.js";
import { simulate } from "../tools/simulator/simulation.js";

const CLASS_NAMES = ["S256", "S16"] as const satisfies readonly ClassName[];

export interface ContentionOptions {
  readonly cases: readonly CaseName[];
  readonly classes: readonly ClassName[];
  /** The number of seconds in which the calls of a load are counted. The other scenarios scale with it. */
  readonly seconds: number;
  /** Shard counts of this package that replace each case's own. */
  readonly ours?: readonly Shards[];
  /** Shard counts of the official component that replace each case's own. */
  readonly official?: readonly (number | "async")[];
  readonly seed: string;
  readonly skewMs: number;
  /** The median execution time of an attempt in ms, which replaces the model's own. */
  readonly executionMs?: number;
  readonly browser: boolean;
  /** Whether browsers in every case resend calls that the platform gave up on. */
  readonly resends: boolean;
}

/** The options of the command without arguments. */
export const DEFAULTS: ContentionOptions = {
  cases: CASE_NAMES,
  classes: CLASS_NAMES,
  seconds: 10,
  seed: "1",
  skewMs: 0,
  browser: true,
  resends: false,
};

/** Runs every case with every design, and calls `onCase` after each case. */
export async function runContention(
  options: ContentionOptions,
  onCase: (result: CaseResult) => void = () => undefined,
): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (const name of options.cases) {
    const one: Case = CASES[name](options);
    const runs = [];
    for (const platform of options.classes.filter((name) => one.classes?.includes(name) ?? true)) {
      const metrics = [];
      for (const design of designsFor(one, options)) {
        const resends = options.resends || one.resends;
        metrics.push(await simulate(design, one.scenario, { ...options, resends, platform }));
      }
      runs.push({ platform, metrics });
    }
    const result = { name, case: one, runs };
    results.push(result);
    onCase(result);
  }
  return results;
}

function designsFor(one: Case, options: ContentionOptions): Design[] {
  const own = options.ours ?? one.ours;
  return [
    ...own.map((shards) => ours(shards)),
    ...(one.inComponent ? own.map((shards) => ours(shards, "component")) : []),
    ...(options.official ?? one.official).map((shards) => (shards === "async" ? peerAsynchronous() : peer(shards))),
  ];
}

/** Parses a list of shard counts that may also contain `word`. */
function parseShards<Word extends string>(text: string, word: Word): (number | Word)[] {
  return text.split(",").flatMap((part): (number | Word)[] => (part === word ? [word] : parseNumbers(part)));
}

const HELP = `npm run bench:contention -- [options]
  --case       names of cases, default all: ${CASE_NAMES.join(",")}
  --classes    ${CLASS_NAMES.join(",")}: deployments with 256 or 16 mutation permits, default both
  --seconds    virtual seconds in which a load's calls are counted (other scenarios scale with it), default ${DEFAULTS.seconds}
  --ours       shard counts or auto, which replace each case's own
  --official   shard counts or async, which replace each case's own
  --seed       default ${DEFAULTS.seed}
  --skew       ms by which the clock of an attempt may be off, default 0
  --execution  median execution time of an attempt in ms (its p99 is five times as long), default ${PLATFORM.execution.median}
  --actions    actions make the calls: a call that wrote nothing is not validated
  --resend     browsers resend calls that the platform gave up on
  --json FILE  --svg FILE  --markdown FILE`;

function parse(args: string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values } = parseArgs({
    args,
    options: {
      case: text,
      classes: text,
      seconds: text,
      ours: text,
      official: text,
      seed: text,
      skew: text,
      execution: text,
      actions: flag,
      resend: flag,
      json: text,
      svg: text,
      markdown: text,
      help: flag,
    },
  });
  const options: ContentionOptions = {
    ...DEFAULTS,
    ...(values.case && { cases: parseChoices(values.case, CASE_NAMES) }),
    ...(values.classes && { classes: parseChoices(values.classes, CLASS_NAMES) }),
    ...(values.seconds && { seconds: parseNumbers(values.seconds)[0] ?? DEFAULTS.seconds }),
    ...(values.ours && { ours: parseShards(values.ours, "auto") }),
    ...(values.official && { official: parseShards(values.official, "async") }),
    ...(values.seed && { seed: values.seed }),
    ...(values.skew && { skewMs: Number(values.skew) }),
    ...(values.execution && { executionMs: parseNumbers(values.execution)[0] ?? NaN }),
    ...(values.actions && { browser: false }),
    ...(values.resend && { resends: true }),
  };
  return { options, values };
}

async function main(): Promise<void> {
  const { options, values } = parse(process.argv.slice(2));
  if (values.help) {
    console.log(HELP);
    return;
  }
  const sections = [
    `Versions: ${versionLine()}. Date: ${new Date().toISOString().slice(0, 10)}. Seed: ${options.seed}.`,
  ];
  console.log(`${sections[0] ?? ""}\n`);
  const results = await runContention(options, (result) => {
    sections.push(renderCase(result));
    console.log(`${sections.at(-1) ?? ""}\n`);
  });
  if (values.markdown) writeFileSync(values.markdown, `${sections.join("\n\n")}\n`);
  if (values.json) {
    writeFileSync(values.json, `${JSON.stringify({ versions: versions(), options, results }, null, 2)}\n`);
  }
  if (values.svg) writeFileSync(values.svg, drawContention(results));
}

if (isProgram(import.meta.url)) await main();
