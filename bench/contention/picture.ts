/** The picture of the load scenarios for the README and the docs. */
import { drawLines, type Panel } from "../report/chart.js";
import { versionLine } from "../report/commandLine.js";
import type { Metrics } from "../../tools/simulator/metrics.js";
import type { CaseResult } from "./tables.js";

/**
 * Draws the load cases on a deployment of 256 permits. Each panel has one demand, and shows one value of each design by calls per
 * second.
 */
export function drawContention(results: readonly CaseResult[]): string {
  const loads = results.flatMap(({ case: { load }, runs }) =>
    load === undefined ? [] : runs.filter(({ platform }) => platform === "S256").map((run) => ({ ...load, ...run })),
  );
  const labels = [...new Set(loads.flatMap(({ metrics }) => metrics.filter(isShown).map(({ label }) => label)))];
  const panel = (demand: number, text: Pick<Panel, "title" | "subtitle" | "unit">, value: (m: Metrics) => number) => {
    const shown = loads.filter((load) => load.demand === demand).toSorted((a, b) => a.rate - b.rate);
    return {
      ...text,
      ticks: shown.map(({ rate }) => `${(rate * demand).toLocaleString("en")}/s`),
      values: labels.map((label) =>
        shown.map(({ metrics }) => {
          const found = metrics.find((m) => m.label === label);
          return found && value(found);
        }),
      ),
    };
  };
  const attempts = (wanted: string) =>
    range(
      loads.flatMap(({ metrics }) => metrics.filter(({ label }) => label === wanted).map((m) => m.attemptsPerCall)),
    );
  return drawLines({
    title: "Calls that meet on one hot limit",
    subtitle: `Simulated, one run of each; real code: ${versionLine(["convex-rate-limits", "@convex-dev/rate-limiter"])}`,
    notes: [
      "A call fails after five conflicts. Tokens too many: the most in any interval.",
      `Where the official component is better: its asynchronous mode needs ${attempts("official async")} attempts a call, this package ${attempts("ours auto")}.`,
    ],
    series: labels.map((label) => ({ name: nameOf(label), family: label.startsWith("ours") ? "ours" : "peer" })),
    panels: [
      panel(
        1,
        { title: "Failed calls", subtitle: "as many calls as the limit allows", unit: " %" },
        (m) => m.failed * 100,
      ),
      panel(3, { title: "Tokens too many", subtitle: "three times as many calls", unit: "" }, (m) => m.overGrant),
    ].filter(({ ticks }) => ticks.length > 0),
  });
}

function nameOf(label: string): string {
  if (label.startsWith("ours")) return "this package:";
  return label
    .replace(/(\d+)$/, "$1 shards:")
    .replace("async", "async:")
    .replace("official", "official,");
}

function range(values: readonly number[]): string {
  if (values.length === 0) return "-";
  const [least, most] = [Math.min(...values).toFixed(2), Math.max(...values).toFixed(2)];
  return least === most ? least : `${least} to ${most}`;
}

/** Excludes one row, four shards and our component, which only the tables show: they would hide the differences of the others. */
function isShown({ shards, label }: Metrics): boolean {
  if (label.endsWith("(component)")) return false;
  return shards === "auto" || shards >= 16 || label.endsWith("async");
}
