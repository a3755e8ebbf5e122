/** Bar charts as SVG files, readable on light and on dark pages. */

interface Series {
  readonly name: string;
  readonly family: "ours" | "peer";
}

interface Panel {
  readonly title: string;
  readonly unit: string;
  /** One value per series; undefined where a series did not run. */
  readonly groups: readonly { readonly label: string; readonly values: readonly (number | undefined)[] }[];
}

export interface Chart {
  readonly title: string;
  readonly subtitle: string;
  readonly series: readonly Series[];
  readonly panels: readonly Panel[];
}

const WIDTH = 860;
const MARGIN = 28;
const HEADER = 104;
const PLOT = 170;
/** Below each plot: the groups' labels; above it: its title and the highest value. */
const BELOW = 34;
const ABOVE = 46;

/** From strong to faint; both families keep their hue in the dark, where the strong end is the light one. */
const HUES = {
  light: { ours: ["#1d4ed8", "#3b82f6", "#93c5fd"], peer: ["#b45309", "#d97706", "#fbbf24"] },
  dark: { ours: ["#60a5fa", "#3b82f6", "#1d4ed8"], peer: ["#fbbf24", "#d97706", "#92400e"] },
};

export function drawBars({ title, subtitle, series, panels }: Chart): string {
  const height = HEADER + panels.length * (ABOVE + PLOT + BELOW);
  const parts = panels.map((panel, i) => drawPanel(panel, series, HEADER + i * (ABOVE + PLOT + BELOW)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escape(title)}">
<style>
text { font: 12px system-ui, sans-serif; fill: #374151 }
.title { font-size: 17px; font-weight: 600; fill: #111827 }
.panel { font-size: 13px; font-weight: 600; fill: #111827 }
.value { font-size: 10px; text-anchor: middle }
.group { text-anchor: middle }
.axis { stroke: #9ca3af }
${fills(series, "light")}
@media (prefers-color-scheme: dark) {
text { fill: #d1d5db } .title, .panel { fill: #f9fafb } .axis { stroke: #6b7280 }
${fills(series, "dark")}
}
</style>
<text class="title" x="${MARGIN}" y="32">${escape(title)}</text>
<text x="${MARGIN}" y="52">${escape(subtitle)}</text>
${drawLegend(series)}
${parts.join("\n")}
</svg>
`;
}

/** The class of a series, and its shade among those of its family. */
function fills(series: readonly Series[], theme: keyof typeof HUES): string {
  return series
    .map(({ family }, i) => {
      const rank = series.slice(0, i).filter((other) => other.family === family).length;
      const shades = HUES[theme][family];
      return `.s${i} { fill: ${shades[rank % shades.length] ?? ""} }`;
    })
    .join("\n");
}

function drawLegend(series: readonly Series[]): string {
  let x = MARGIN;
  return series
    .map(({ name }, i) => {
      const at = x;
      // About seven units to a letter, and room for the box and the gap.
      x += 34 + name.length * 6.6;
      return `<rect class="s${i}" x="${at}" y="70" width="11" height="11" rx="2"/><text x="${at + 17}" y="80">${escape(name)}</text>`;
    })
    .join("\n");
}

function drawPanel({ title, unit, groups }: Panel, series: readonly Series[], top: number): string {
  const most = Math.max(...groups.flatMap(({ values }) => values.map((value = 0) => value)), Number.MIN_VALUE);
  const base = top + ABOVE + PLOT;
  const groupWidth = (WIDTH - 2 * MARGIN) / groups.length;
  const barWidth = Math.min(46, (groupWidth * 0.86) / series.length);
  const bars = groups.flatMap(({ label, values }, group) => {
    const middle = MARGIN + groupWidth * (group + 0.5);
    const left = middle - (barWidth * series.length) / 2;
    return [
      ...values.map((value, i) => {
        if (value === undefined) return "";
        const height = Math.max(value > 0 ? 1 : 0, (value / most) * PLOT);
        const [x, y] = [(left + i * barWidth).toFixed(1), (base - height).toFixed(1)];
        const text = `<text class="value" x="${(left + (i + 0.5) * barWidth).toFixed(1)}" y="${(base - height - 5).toFixed(1)}">${show(value)}</text>`;
        return `<rect class="s${i}" x="${x}" y="${y}" width="${(barWidth - 4).toFixed(1)}" height="${height.toFixed(1)}" rx="2"/>${text}`;
      }),
      `<text class="group" x="${middle.toFixed(1)}" y="${base + 20}">${escape(label)}</text>`,
    ];
  });
  return `<text class="panel" x="${MARGIN}" y="${top + 18}">${escape(title)}${unit ? ` (${escape(unit)})` : ""}</text>
${bars.join("\n")}
<line class="axis" x1="${MARGIN}" x2="${WIDTH - MARGIN}" y1="${base}" y2="${base}"/>`;
}

function show(value: number): string {
  if (value === 0) return "0";
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
