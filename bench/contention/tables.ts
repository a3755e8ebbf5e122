/** The report of one case: a row per design, then ours as a ratio of the peer's. */
import { markdownTable, percent, ratio } from "../report/markdown.js";
import type { Metrics } from "../simulator/metrics.js";
import type { Case } from "./scenarios.js";

export interface CaseResult {
  readonly case: Case;
  readonly metrics: readonly Metrics[];
}

export function renderCase({ case: { title, scenario }, metrics }: CaseResult): string {
  const withWaits = scenario.reserve === true;
  const head = [
    "design",
    "attempts per call",
    "failed after retries",
    "p50 ms",
    "p99 ms",
    "rows read",
    "ranges read",
    "rows written",
    "admitted of possible",
    "utilisation",
    "over-grant",
    ...(withWaits ? ["mean wait ms", "one exact bucket"] : ["retryAt honest"]),
  ];
  const rows = metrics.map((m) => [
    m.label,
    m.attemptsPerCall.toFixed(2),
    percent(m.failed),
    m.p50Ms.toFixed(0),
    m.p99Ms.toFixed(0),
    m.perCall.rowsRead.toFixed(2),
    m.perCall.rangesRead.toFixed(2),
    m.perCall.rowsWritten.toFixed(2),
    `${m.admittedInTime} of ${m.possible}`,
    m.utilisation.toFixed(3),
    m.overGrant === 0 ? "0" : m.overGrant.toFixed(1),
    ...(withWaits ? [m.meanWaitMs.toFixed(0), m.exactMeanWaitMs.toFixed(0)] : [showHonesty(m)]),
  ]);
  const errors = metrics.filter(({ threw }) => threw > 0);
  return [
    `### ${title}`,
    markdownTable(head, rows),
    ...errors.map(
      ({ label, threw, firstError }) => `${label} threw in ${percent(threw)} of the calls: ${String(firstError)}`,
    ),
    renderRatios(metrics),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Of the denials put to the test, how many were told the truth; after the comma, one millisecond later. */
function showHonesty({ honest, honestOneMsLater, probes }: Metrics): string {
  if (honest === undefined || honestOneMsLater === undefined) return "-";
  const later = honestOneMsLater === honest ? "" : `, +1 ms ${percent(honestOneMsLater, 0)}`;
  return `${percent(honest, 0)}${later} (${probes})`;
}

/** Each of our designs beside the peer's with as many shards, and `auto` beside the peer's best. */
function renderRatios(metrics: readonly Metrics[]): string {
  const synchronous = metrics.filter(({ library, label }) => library === "peer" && !label.endsWith("async"));
  const best = synchronous.reduce<Metrics | undefined>(
    (best, m) => (best && best.attemptsPerCall <= m.attemptsPerCall ? best : m),
    undefined,
  );
  const rows = metrics
    .filter(({ library }) => library === "ours")
    .flatMap((ours) => {
      const twin = synchronous.find((peer) => peer.shards === ours.shards) ?? best;
      if (!twin) return [];
      return [
        [
          `${ours.label} / ${twin.label}`,
          ratio(ours.attemptsPerCall, twin.attemptsPerCall),
          ratio(ours.failed, twin.failed),
          ratio(ours.p99Ms, twin.p99Ms),
          ratio(ours.perCall.rowsRead, twin.perCall.rowsRead),
          ratio(ours.perCall.rowsWritten, twin.perCall.rowsWritten),
          ratio(ours.utilisation, twin.utilisation),
        ],
      ];
    });
  if (rows.length === 0) return "";
  return markdownTable(["ratio", "attempts", "failures", "p99", "rows read", "rows written", "utilisation"], rows);
}
