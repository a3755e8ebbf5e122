/**
 * `npm run bench:engine` measures the speed of a decision and of a call, counts what a call costs, and compares both with the peer.
 * See bench/README.md.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { raceCalls } from "./engine/calls.js";
import { countCosts } from "./engine/costs.js";
import { raceDecisions } from "./engine/decisions.js";
import type { Standing } from "./engine/race.js";
import { isProgram, versionLine, versions } from "./report/commandLine.js";
import { markdownTable } from "./report/markdown.js";

export interface EngineOptions {
  readonly decisions: number;
  readonly calls: number;
  readonly rounds: number;
}

export const DEFAULTS: EngineOptions = { decisions: 300_000, calls: 300, rounds: 9 };

export async function runEngine({ decisions, calls, rounds }: EngineOptions) {
  return {
    decisions: await raceDecisions(decisions, rounds),
    calls: await raceCalls(calls, rounds),
    costs: await countCosts(),
  };
}

export function renderEngine({ decisions, calls, costs }: Awaited<ReturnType<typeof runEngine>>): string {
  return [
    `Versions: ${versionLine()}. Rates depend on this machine and its load; the last column is the result.`,
    ...decisions.flatMap(({ kind, standings }) => [
      `### Pure decisions, ${kind}, half of them denials`,
      renderStandings(standings, "decisions per second"),
    ]),
    "### Calls on convex-test, one mutation each",
    renderStandings(calls, "calls per second"),
    "### Database cost of one call, without concurrent calls",
    markdownTable(
      ["design", "call", "index ranges read", "documents read", "documents written", "calls to ctx.db", "hops"],
      costs.map(({ label, situation, cost }) => [
        label,
        situation,
        ...[cost.rangesRead, cost.rowsRead, cost.rowsWritten, cost.storeCalls, cost.hops].map((n) => show(n)),
      ]),
    ),
  ].join("\n\n");
}

function renderStandings(standings: readonly Standing[], unit: string): string {
  return markdownTable(
    ["", unit, "× official"],
    standings.map(({ name, perSecond, ofFirst }) => [
      name,
      Math.round(perSecond).toLocaleString("en"),
      ofFirst.toFixed(2),
    ]),
  );
}

function show(count: number): string {
  return Number.isInteger(count) ? String(count) : count.toFixed(2);
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { decisions: text, calls: text, rounds: text, json: text, markdown: text } });
  const results = await runEngine({
    decisions: Number(values.decisions ?? DEFAULTS.decisions),
    calls: Number(values.calls ?? DEFAULTS.calls),
    rounds: Number(values.rounds ?? DEFAULTS.rounds),
  });
  const report = renderEngine(results);
  console.log(report);
  if (values.markdown) writeFileSync(values.markdown, `${report}\n`);
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ versions: versions(), results }, null, 2)}\n`);
}

if (isProgram(import.meta.url)) await main();
