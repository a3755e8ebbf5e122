/** The picture of the load scenarios for the docs. */
import { type Chart, drawBars } from "../report/chart.js";
import { versionLine } from "../report/commandLine.js";
import type { Metrics } from "../simulator/metrics.js";
import type { CaseResult } from "./tables.js";

export function drawContention(results: readonly CaseResult[]): string {
  const loads = results.flatMap(({ case: { group }, runs }) =>
    runs
      .filter(({ platform }) => group !== undefined && platform === "S256")
      .map(({ metrics }) => ({ group: group ?? "", metrics })),
  );
  const shown = loads.flatMap(({ metrics }) => metrics.filter(isShown).map(({ label }) => label));
  const labels = [...new Set(shown)];
  const series = labels.map((name) => ({
    name,
    family: name.startsWith("ours") ? ("ours" as const) : ("peer" as const),
  }));
  const panel = (title: string, unit: string, value: (metrics: Metrics) => number) => ({
    title,
    unit,
    groups: loads.map(({ group, metrics }) => ({
      label: group,
      values: labels.map((label) => {
        const found = metrics.find((m) => m.label === label);
        return found && value(found);
      }),
    })),
  });
  const chart: Chart = {
    title: "Calls that meet on one hot limit",
    subtitle: `Simulated conflicts, real code: ${versionLine(["convex-rate-limits", "@convex-dev/rate-limiter"])}`,
    series,
    panels: [
      panel("Attempts per call", "", (m) => m.attemptsPerCall),
      panel("Calls that failed after their last retry", "%", (m) => m.failed * 100),
      panel("Rows read per call", "", (m) => m.perCall.rowsRead),
    ],
  };
  return drawBars(chart);
}

/** One row, four shards and our component are left to the tables: beside them the others could not be told apart. */
function isShown({ shards, label }: Metrics): boolean {
  if (label.endsWith("(component)")) return false;
  return shards === "auto" || shards >= 16 || label.endsWith("async");
}
