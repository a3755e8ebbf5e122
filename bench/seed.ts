/** `npm run bench:seed` measures callers that call again at once, on one hot key or on keys of their own. See bench/README.md. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { isProgram, parseNumbers, versionLine, versions } from "./report/commandLine.js";
import { markdownTable, percent, ratio } from "./report/markdown.js";
import type { Design } from "../tools/simulator/design.js";
import type { Metrics } from "../tools/simulator/metrics.js";
import { ours } from "../tools/simulator/ours.js";
import { peer, peerAsynchronous } from "../tools/simulator/peer.js";
import { simulate } from "../tools/simulator/simulation.js";

export interface SeedOptions {
  readonly callers: readonly number[];
  readonly seconds: number;
  readonly seed: string;
}

export const DEFAULTS: SeedOptions = { callers: [1, 16, 64, 256], seconds: 3, seed: "1" };

export interface SeedResult {
  readonly keys: "shared" | "own";
  readonly callers: number;
  readonly metrics: readonly Metrics[];
}

const DESIGNS: readonly Design[] = [ours(1), ours(1, "component"), ours("auto"), peer(1), peer(4), peerAsynchronous()];

export async function runSeed({ callers, seconds, seed }: SeedOptions): Promise<SeedResult[]> {
  const results: SeedResult[] = [];
  for (const keys of ["shared", "own"] as const) {
    for (const count of callers) {
      const metrics = [];
      for (const design of DESIGNS) {
        const scenario = {
          // A burst of 10, then 10 a second.
          limit: { kind: "token bucket", rate: 10, period: 1000, capacity: 10 },
          callers: { kind: "closed", callers: count, thinkMs: 0, counts: { from: 1, to: 1 }, keys },
          seconds,
        } as const;
        metrics.push(await simulate(design, scenario, { seed }));
      }
      results.push({ keys, callers: count, metrics });
    }
  }
  return results;
}

export function renderSeed(results: readonly SeedResult[]): string {
  const head = [
    "design",
    "requests",
    "admitted of possible",
    "over-grant",
    "attempts per request",
    "failed",
    "store calls per request",
    "p99 ms",
    "attempts / official 1",
    "store calls / official 1",
  ];
  const sections = results.map(({ keys, callers, metrics }) => {
    const first = metrics.find(({ label }) => label === "official 1");
    const rows = metrics.map((m) => [
      m.label,
      String(m.calls),
      `${m.admittedInTime} of ${m.possible}`,
      m.overGrant === 0 ? "0" : m.overGrant.toFixed(1),
      m.attemptsPerCall.toFixed(2),
      percent(m.failed),
      m.perCall.storeCalls.toFixed(2),
      m.p99Ms.toFixed(0),
      first ? ratio(m.attemptsPerCall, first.attemptsPerCall) : "",
      first ? ratio(m.perCall.storeCalls, first.perCall.storeCalls) : "",
    ]);
    const who = callers === 1 ? "1 caller" : `${callers} callers`;
    return `### ${who}, ${keys === "shared" ? "one hot key" : "one key each"}\n\n${markdownTable(head, rows)}`;
  });
  return [`Versions: ${versionLine()}. Burst 10, 10/s.`, ...sections].join("\n\n");
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { callers: text, seconds: text, seed: text, json: text, markdown: text } });
  const options: SeedOptions = {
    callers: values.callers ? parseNumbers(values.callers) : DEFAULTS.callers,
    seconds: Number(values.seconds ?? DEFAULTS.seconds),
    seed: values.seed ?? DEFAULTS.seed,
  };
  const results = await runSeed(options);
  const report = renderSeed(results);
  console.log(report);
  if (values.markdown) writeFileSync(values.markdown, `${report}\n`);
  if (values.json)
    writeFileSync(values.json, `${JSON.stringify({ versions: versions(), options, results }, null, 2)}\n`);
}

if (isProgram(import.meta.url)) await main();
