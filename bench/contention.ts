/** `npm run bench:contention`: both libraries' real code under simulated conflicts, side by side. See bench/README.md. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { drawContention } from "./contention/picture.js";
import { type Case, COUNTS, flashCrowd, KINDS, load, PATTERNS, reservations, reshard } from "./contention/scenarios.js";
import { type CaseResult, renderCase } from "./contention/tables.js";
import { isProgram, parseChoices, parseNumbers, versionLine, versions } from "./report/commandLine.js";
import type { Design, Shards } from "./simulator/design.js";
import { type PlaceName, ours } from "./simulator/ours.js";
import { peer, peerAsynchronous } from "./simulator/peer.js";
import { simulate } from "./simulator/simulation.js";

const SCENARIOS = ["load", "flash", "reshard", "reservations"] as const;
/** Shard counts; the peer has no `auto`, and only the peer is asynchronous. */
const DESIGNS: readonly (Shards | "async")[] = [1, 4, 16, 64, "auto", "async"];
const LIBRARIES = ["ours", "official"] as const;

export interface ContentionOptions {
  readonly scenarios: readonly (typeof SCENARIOS)[number][];
  readonly rates: readonly number[];
  readonly demands: readonly number[];
  readonly counts: readonly (typeof COUNTS)[number][];
  readonly kinds: readonly (typeof KINDS)[number][];
  readonly patterns: readonly (typeof PATTERNS)[number][];
  readonly designs: typeof DESIGNS;
  readonly libraries: readonly (typeof LIBRARIES)[number][];
  readonly homes: readonly PlaceName[];
  readonly seconds: number;
  readonly probes: number;
  readonly seed: string;
  readonly skewMs: number;
  readonly browser: boolean;
}

/** What the command does without arguments. */
export const DEFAULTS: ContentionOptions = {
  scenarios: SCENARIOS,
  rates: [300, 1000, 3000],
  demands: [1, 3],
  counts: ["one"],
  kinds: ["token bucket"],
  patterns: ["poisson"],
  designs: DESIGNS,
  libraries: LIBRARIES,
  homes: ["tables"],
  seconds: 10,
  probes: 200,
  seed: "1",
  skewMs: 0,
  browser: true,
};

/** Runs every case with every design; `onCase` hears of each as soon as it is done. */
export async function runContention(
  options: ContentionOptions,
  onCase: (result: CaseResult) => void = () => undefined,
): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (const one of casesOf(options)) {
    const metrics = [];
    for (const design of designsFor(one, options)) metrics.push(await simulate(design, one.scenario, options));
    const result = { case: one, metrics };
    results.push(result);
    onCase(result);
  }
  return results;
}

function casesOf(options: ContentionOptions): Case[] {
  const { rates, demands, counts, kinds, patterns, seconds, probes } = options;
  const cases: Record<(typeof SCENARIOS)[number], () => Case[]> = {
    load: () =>
      kinds.flatMap((kind) =>
        patterns.flatMap((pattern) =>
          counts.flatMap((counts) =>
            demands.flatMap((demand) =>
              rates.map((rate) => load({ rate, demand, counts, kind, pattern, seconds, probes })),
            ),
          ),
        ),
      ),
    flash: () => KINDS.flatMap((kind) => [flashCrowd(300, kind), flashCrowd(1000, kind)]),
    reshard: () => [
      reshard(50, "4 → 16"),
      reshard(300, "4 → 16"),
      reshard(300, "16 → 4"),
      reshard(300, "walk 1 … 64 … 1"),
    ],
    reservations: () => [reservations(1), reservations(1.2)],
  };
  return options.scenarios.flatMap((scenario) => cases[scenario]());
}

function designsFor({ shards }: Case, { designs, libraries, homes }: ContentionOptions): Design[] {
  const all: typeof DESIGNS = shards ?? designs;
  return libraries.flatMap((library) =>
    all.flatMap((count): Design[] => {
      if (library === "ours") return count === "async" ? [] : homes.map((home) => ours(count, home));
      if (count === "async") return [peerAsynchronous()];
      return count === "auto" ? [] : [peer(count)];
    }),
  );
}

function parseDesigns(text: string): (Shards | "async")[] {
  return text
    .split(",")
    .flatMap((part): (Shards | "async")[] => (part === "auto" || part === "async" ? [part] : parseNumbers(part)));
}

const HELP = `npm run bench:contention -- [options]
  --scenario   ${SCENARIOS.join(",")}
  --rate       calls per second that the limit lets through (load), default ${DEFAULTS.rates.join(",")}
  --demand     multiples of the rate (load), default ${DEFAULTS.demands.join(",")}
  --counts     ${COUNTS.join(",")} (load), default one; mixed is 1 to 10
  --kinds      ${KINDS.join(",")} (load), default token bucket
  --patterns   ${PATTERNS.join(",")} (load), default poisson
  --full       all counts, kinds and patterns
  --designs    shard counts: ${DESIGNS.join(",")}, or any number
  --libraries  ${LIBRARIES.join(",")}
  --homes      tables,component (ours), default tables
  --seconds    virtual seconds per run (load), default ${DEFAULTS.seconds}
  --probes     denials whose retryAt is put to the test, default ${DEFAULTS.probes}
  --seed       default ${DEFAULTS.seed}
  --skew       ms by which the clocks of attempts may be off, default 0
  --actions    calls come from actions: a call that wrote nothing is not validated
  --json FILE  --svg FILE  --markdown FILE`;

function parse(args: string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values } = parseArgs({
    args,
    options: {
      scenario: text,
      rate: text,
      demand: text,
      counts: text,
      kinds: text,
      patterns: text,
      full: flag,
      designs: text,
      libraries: text,
      homes: text,
      seconds: text,
      probes: text,
      seed: text,
      skew: text,
      actions: flag,
      json: text,
      svg: text,
      markdown: text,
      help: flag,
    },
  });
  const all = values.full ? { counts: COUNTS, kinds: KINDS, patterns: PATTERNS } : {};
  const options: ContentionOptions = {
    ...DEFAULTS,
    ...all,
    ...(values.scenario && { scenarios: parseChoices(values.scenario, SCENARIOS) }),
    ...(values.rate && { rates: parseNumbers(values.rate) }),
    ...(values.demand && { demands: parseNumbers(values.demand) }),
    ...(values.counts && { counts: parseChoices(values.counts, COUNTS) }),
    ...(values.kinds && { kinds: parseChoices(values.kinds, KINDS) }),
    ...(values.patterns && { patterns: parseChoices(values.patterns, PATTERNS) }),
    ...(values.designs && { designs: parseDesigns(values.designs) }),
    ...(values.libraries && { libraries: parseChoices(values.libraries, LIBRARIES) }),
    ...(values.homes && { homes: parseChoices(values.homes, ["tables", "component"]) }),
    ...(values.seconds && { seconds: Number(values.seconds) }),
    ...(values.probes && { probes: Number(values.probes) }),
    ...(values.seed && { seed: values.seed }),
    ...(values.skew && { skewMs: Number(values.skew) }),
    ...(values.actions && { browser: false }),
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
