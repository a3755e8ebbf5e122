/** `npm run bench:contention`: both libraries' real code under simulated conflicts, side by side. See bench/README.md. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { drawContention } from "./contention/picture.js";
import { type Case, CASE_NAMES, type CaseName, CASES } from "./contention/scenarios.js";
import { type CaseResult, renderCase } from "./contention/tables.js";
import { isProgram, parseChoices, parseNumbers, versionLine, versions } from "./report/commandLine.js";
import type { Design, Shards } from "./simulator/design.js";
import { ours } from "./simulator/ours.js";
import { peer, peerAsynchronous } from "./simulator/peer.js";
import { type ClassName, PLATFORM } from "./simulator/platform.js";
import { simulate } from "./simulator/simulation.js";

const CLASS_NAMES = ["S256", "S16"] as const satisfies readonly ClassName[];

export interface ContentionOptions {
  readonly cases: readonly CaseName[];
  readonly classes: readonly ClassName[];
  /** How long calls are counted in the loads; the other scenarios are as long in proportion. */
  readonly seconds: number;
  /** Shard counts of ours, and of the official component, instead of each case's own. */
  readonly ours?: readonly Shards[];
  readonly official?: readonly (number | "async")[];
  readonly seed: string;
  readonly skewMs: number;
  /** The median of what an attempt takes, in ms, instead of the model's own. */
  readonly executionMs?: number;
  readonly browser: boolean;
  /** Whether browsers send calls again that the platform gave up, in every case. */
  readonly resends: boolean;
}

/** What the command does without arguments. */
export const DEFAULTS: ContentionOptions = {
  cases: CASE_NAMES,
  classes: CLASS_NAMES,
  seconds: 10,
  seed: "1",
  skewMs: 0,
  browser: true,
  resends: false,
};

/** Runs every case with every design; `onCase` hears of each as soon as it is done. */
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

/** Shard counts, and one word. */
function parseShards<Word extends string>(text: string, word: Word): (number | Word)[] {
  return text.split(",").flatMap((part): (number | Word)[] => (part === word ? [word] : parseNumbers(part)));
}

const HELP = `npm run bench:contention -- [options]
  --case       names, default all: ${CASE_NAMES.join(",")}
  --classes    ${CLASS_NAMES.join(",")}: deployments with 256 or 16 mutation permits, default both
  --seconds    virtual seconds that are counted of each load (the others in proportion), default ${DEFAULTS.seconds}
  --ours       shard counts or auto, instead of each case's own
  --official   shard counts or async, instead of each case's own
  --seed       default ${DEFAULTS.seed}
  --skew       ms by which the clocks of attempts may be off, default 0
  --execution  ms that an attempt takes (the median; p99 five times as much), default ${PLATFORM.execution.median}
  --actions    calls come from actions: a call that wrote nothing is not validated
  --resend     browsers send calls again that the platform gave up
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
