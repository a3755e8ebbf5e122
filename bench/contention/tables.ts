/** The report of one case: a row for each design and class of deployment, then the ratios of our figures to the peer's. */
import { markdownTable, percent, ratio } from "../report/markdown.js";
import type { Metrics } from "../../tools/simulator/metrics.js";
import { CLASSES, type ClassName } from "../../tools/simulator/platform.js";
import type { Case, Focus } from "./case.js";
import type { CaseName } from "./scenarios.js";

export interface CaseResult {
  readonly name: CaseName;
  readonly case: Case;
  readonly runs: readonly { readonly platform: ClassName; readonly metrics: readonly Metrics[] }[];
}

interface Column {
  readonly title: string;
  readonly show: (metrics: Metrics) => string;
}

const column = (title: string, show: Column["show"]): Column => ({ title, show });

const OVER_GRANT = "over-grant";
const USUAL: readonly Column[] = [
  column("attempts", (m) => m.attemptsPerCall.toFixed(3)),
  column("failed", (m) => percent(m.failed)),
  column("p99 ms", (m) => m.p99Ms.toFixed(0)),
  column("utilisation", (m) => m.utilisation.toFixed(3)),
  column("rows read", (m) => m.perCall.rowsRead.toFixed(2)),
  column("index reads", (m) => m.perCall.rangesRead.toFixed(2)),
  column("rows written", (m) => m.perCall.rowsWritten.toFixed(2)),
  column("rows at the end", (m) => String(m.rowsAtEnd)),
  column(OVER_GRANT, (m) => (m.overGrant === 0 ? "0" : m.overGrant.toPrecision(3))),
];

const FOCUSED: Record<Focus, readonly Column[]> = {
  keys: [column("rows a key", (m) => (m.rowsAtEnd / m.keys).toFixed(2))],
  denials: [
    column("rows read per denial", (m) => m.perDenial.rowsRead.toFixed(2)),
    column("index reads per denial", (m) => m.perDenial.rangesRead.toFixed(2)),
    column("false denials", (m) => percent(m.falseDenials, 1)),
    column("`retryAt` suffices", showHonesty),
  ],
  waits: [
    column("mean wait ms", (m) => m.meanWaitMs.toFixed(0)),
    column("over the exact bucket's", (m) =>
      m.exactMeanWaitMs === 0 ? "-" : (m.meanWaitMs / m.exactMeanWaitMs).toFixed(3),
    ),
  ],
  honesty: [column("`retryAt` suffices", showHonesty)],
  operations: [
    column("operations", (m) => String(m.operations.calls)),
    column("their attempts", (m) => m.operations.attemptsPerCall.toFixed(3)),
    column("failed", (m) => percent(m.operations.failed)),
    column("p99 ms", (m) => m.operations.p99Ms.toFixed(0)),
    column("rows read", (m) => m.operations.perCall.rowsRead.toFixed(2)),
    column("used and not charged", (m) => percent(m.operations.uncharged)),
  ],
  obedience: [
    column("calls per success", (m) => (m.calls / Math.max(1, m.admittedCalls)).toFixed(2)),
    column("longest wait ms", (m) => m.longestWaitMs.toFixed(0)),
  ],
};

export function renderCase({ name, case: { title, scenario, focus = "honesty", resends }, runs }: CaseResult): string {
  const columns = [
    ...USUAL.filter(({ title }) => title !== OVER_GRANT || !scenario.isUnbounded),
    ...FOCUSED[focus],
    ...(resends ? [column("sends", (m: Metrics) => m.sendsPerCall.toFixed(2))] : []),
  ];
  const rows = runs.flatMap(({ platform, metrics }) =>
    metrics.map((m) => [m.label, `${CLASSES[platform].mutationPermits}`, ...columns.map(({ show }) => show(m))]),
  );
  const all = runs.flatMap(({ metrics }) => metrics);
  const threw = all.filter((m) => m.threw > 0);
  const stopped = all.filter((m) => m.operations.threw > 0);
  return [
    `### ${title} (\`${name}\`)`,
    markdownTable(["design", "permits", ...columns.map(({ title }) => title)], rows),
    ...threw.map((m) => `${m.label} threw in ${percent(m.threw)} of the calls: ${String(m.firstError)}`),
    ...stopped.map(({ label, operations }) => `${label} threw in operations: ${String(operations.firstError)}`),
    renderRatios(runs),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** The share of the probed denials whose `retryAt` was true; after a comma the share one millisecond later, if it differs. */
function showHonesty({ honest, honestOneMsLater, probes }: Metrics): string {
  if (honest === undefined || honestOneMsLater === undefined) return "-";
  const later = honestOneMsLater === honest ? "" : `, +1 ms ${percent(honestOneMsLater, 0)}`;
  return `${percent(honest, 0)}${later} (${probes})`;
}

/** The ratios of each of our designs to each of the peer's in the same run. */
function renderRatios(runs: CaseResult["runs"]): string {
  const rows = runs.flatMap(({ platform, metrics }) =>
    metrics
      .filter(({ library }) => library === "ours")
      .flatMap((ours) =>
        metrics
          .filter(({ library }) => library === "peer")
          .map((peer) => [
            `${ours.label} / ${peer.label}`,
            `${CLASSES[platform].mutationPermits}`,
            ratio(ours.attemptsPerCall, peer.attemptsPerCall),
            ratio(ours.failed, peer.failed),
            ratio(ours.p99Ms, peer.p99Ms),
            ratio(ours.utilisation, peer.utilisation),
            ratio(ours.perCall.rowsRead, peer.perCall.rowsRead),
            ratio(ours.perCall.rangesRead, peer.perCall.rangesRead),
            ratio(ours.perCall.rowsWritten, peer.perCall.rowsWritten),
            ratio(ours.rowsAtEnd, peer.rowsAtEnd),
          ]),
      ),
  );
  const head = ["ratio", "permits", "attempts", "failed", "p99", "utilisation"];
  return rows.length === 0
    ? ""
    : markdownTable([...head, "rows read", "index reads", "rows written", "rows at the end"], rows);
}
