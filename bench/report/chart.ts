/** Draws lines over calls per second as an SVG that is readable on light and on dark pages. */

interface Series {
  readonly name: string;
  readonly family: "ours" | "peer";
}

export interface Panel {
  readonly title: string;
  readonly subtitle: string;
  readonly unit: string;
  /** The labels under the points: one for each point, evenly spaced. */
  readonly ticks: readonly string[];
  /** The values of each series, one for each tick; undefined if the series did not run there. */
  readonly values: readonly (readonly (number | undefined)[])[];
}

export interface Chart {
  readonly title: string;
  readonly subtitle: string;
  readonly notes: readonly string[];
  readonly series: readonly Series[];
  readonly panels: readonly Panel[];
}

const WIDTH = 860;
const MARGIN = 28;
const HEADER = 118;
const PLOT = 200;
/** The width of a name and a value to the right of the last point. */
const NAMES = 156;
const LINE = 17;

const HUES = {
  light: { ours: ["#1d4ed8"], peer: ["#b45309", "#d97706", "#9a7b1f"] },
  dark: { ours: ["#60a5fa"], peer: ["#fbbf24", "#f59e0b", "#d6b65a"] },
};
/** The lines of the peer also differ in their dashes, for readers who cannot distinguish the hues. */
const DASHES = ["", "7 4", "2 4"];

export function drawLines({ title, subtitle, notes, series, panels }: Chart): string {
  const width = (WIDTH - 2 * MARGIN + MARGIN) / panels.length;
  const foot = HEADER + PLOT + 62;
  const parts = panels.map((panel, i) => drawPanel(panel, series, MARGIN + i * width, width - MARGIN));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${foot + notes.length * LINE}" role="img" aria-label="${escape(title)}">
<style>
text { font: 13px system-ui, sans-serif; fill: #374151 }
.title { font-size: 18px; font-weight: 600; fill: #111827 }
.panel { font-size: 15px; font-weight: 600; fill: #111827 }
.tick { text-anchor: middle }
.axis { stroke: #9ca3af }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round }
.ours { stroke-width: 4 }
.name { font-weight: 600 }
${colours(series, "light")}
@media (prefers-color-scheme: dark) {
text { fill: #d1d5db } .title, .panel { fill: #f9fafb } .axis { stroke: #6b7280 }
${colours(series, "dark")}
}
</style>
<text class="title" x="${MARGIN}" y="34">${escape(title)}</text>
<text x="${MARGIN}" y="56">${escape(subtitle)}</text>
${parts.join("\n")}
${notes.map((note, i) => `<text x="${MARGIN}" y="${foot + i * LINE}">${escape(note)}</text>`).join("\n")}
</svg>
`;
}

function rankOf(series: readonly Series[], i: number): number {
  return series.slice(0, i).filter(({ family }) => family === series[i]?.family).length;
}

function colours(series: readonly Series[], theme: keyof typeof HUES): string {
  return series
    .map(({ family }, i) => {
      const shades = HUES[theme][family];
      const shade = shades[rankOf(series, i) % shades.length] ?? "";
      return `.s${i} { stroke: ${shade} } .n${i} { fill: ${shade} }`;
    })
    .join("\n");
}

function drawPanel(
  { title, subtitle, unit, ticks, values }: Panel,
  series: readonly Series[],
  left: number,
  width: number,
) {
  const base = HEADER + PLOT;
  const plot = width - NAMES;
  const most = Math.max(...values.flat().map((value = 0) => value), Number.MIN_VALUE);
  const x = (i: number) => left + 14 + (i / Math.max(1, ticks.length - 1)) * (plot - 28);
  const y = (value: number) => base - (value / most) * (PLOT - 44);
  const lines = values.flatMap((line, i) => {
    const points = line.flatMap((value, at) => (value === undefined ? [] : [{ x: x(at), y: y(value), value }]));
    const last = points.at(-1);
    const { name = "", family = "peer" } = series[i] ?? {};
    return last ? [{ i, name, family, points, last, at: last.y + 4 }] : [];
  });
  // Names are placed from the lowest up, so that those of lines that end together do not overlap; ours come first.
  const named = lines.toSorted((a, b) => b.at - a.at || a.i - b.i);
  for (const [i, line] of named.entries()) line.at = Math.min(line.at, (named[i - 1]?.at ?? Infinity) - LINE);
  const drawn = lines.toReversed().map(({ i, family, points }) => {
    const dashes = family === "peer" ? DASHES[rankOf(series, i) % DASHES.length] : "";
    const at = points.map((point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`).join(" ");
    return `<polyline class="s${i} ${family}" points="${at}"${dashes ? ` stroke-dasharray="${dashes}"` : ""}/>`;
  });
  const names = named.map(
    ({ i, name, last, at }) =>
      `<text class="name n${i}" x="${(left + plot + 2).toFixed(1)}" y="${at.toFixed(1)}">${escape(name)} ${show(last.value)}${unit}</text>`,
  );
  const labels = ticks.map((tick, i) => `<text class="tick" x="${x(i).toFixed(1)}" y="${base + 20}">${tick}</text>`);
  return `<text class="panel" x="${left}" y="${HEADER - 22}">${escape(title)}</text>
<text x="${left}" y="${HEADER - 4}">${escape(subtitle)}</text>
<line class="axis" x1="${left}" x2="${left + plot}" y1="${base}" y2="${base}"/>
${[...labels, ...drawn, ...names].join("\n")}`;
}

function show(value: number): string {
  if (value === 0) return "0";
  return value >= 10 ? value.toFixed(0) : value.toFixed(value >= 0.1 ? 1 : 3);
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
