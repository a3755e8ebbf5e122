/** Draws lanes of calls over time as an SVG that is readable on light and on dark pages. */

export interface Lane {
  readonly title: string;
  readonly notes: string;
  readonly dots: readonly { readonly at: number; readonly ok: boolean }[];
  readonly starts: readonly number[];
}

export interface Lanes {
  readonly title: string;
  readonly subtitle: string;
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
  readonly lanes: readonly Lane[];
}

const WIDTH = 860;
const MARGIN = 28;
const HEADER = 96;
const LANE = 84;
const FOOTER = 30;

export function drawLanes({ title, subtitle, from, to, ticks, lanes }: Lanes): string {
  const height = HEADER + lanes.length * LANE + FOOTER;
  const x = (at: number) => (MARGIN + ((at - from) / (to - from)) * (WIDTH - 2 * MARGIN)).toFixed(1);
  const bottom = HEADER + lanes.length * LANE;
  const axis = ticks.map(
    ({ at, label }) =>
      `<line class="tick" x1="${x(at)}" x2="${x(at)}" y1="${bottom}" y2="${bottom + 6}"/><text x="${x(at)}" y="${bottom + 20}">${label}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}">
<style>
text { font: 12px system-ui, sans-serif; fill: #374151 }
.title { font-size: 17px; font-weight: 600; fill: #111827 }
.lane { font-size: 13px; font-weight: 600; fill: #111827 }
.notes { text-anchor: end }
.base, .tick { stroke: #9ca3af }
.start { stroke: #9ca3af; stroke-dasharray: 3 3 }
.yes { fill: #1d4ed8 }
.no { fill: none; stroke: #b45309; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
text { fill: #d1d5db } .title, .lane { fill: #f9fafb } .base, .tick, .start { stroke: #6b7280 }
.yes { fill: #60a5fa } .no { stroke: #fbbf24 }
}
</style>
<text class="title" x="${MARGIN}" y="32">${title}</text>
<text x="${MARGIN}" y="52">${subtitle}</text>
<circle class="yes" cx="${MARGIN + 5}" cy="70" r="4"/><text x="${MARGIN + 16}" y="74">allowed</text>
<circle class="no" cx="${MARGIN + 85}" cy="70" r="4"/><text x="${MARGIN + 96}" y="74">denied</text>
${lanes.map((lane, i) => drawLane(lane, HEADER + i * LANE, x)).join("\n")}
${axis.join("\n")}
</svg>
`;
}

/** Draws allowed calls above the line, and denied ones below it. */
function drawLane({ title, notes, dots, starts }: Lane, top: number, x: (at: number) => string): string {
  const base = top + 52;
  const lines = starts.map(
    (at) => `<line class="start" x1="${x(at)}" x2="${x(at)}" y1="${base - 24}" y2="${base + 24}"/>`,
  );
  const circles = dots.map(
    ({ at, ok }) => `<circle class="${ok ? "yes" : "no"}" cx="${x(at)}" cy="${base + (ok ? -10 : 10)}" r="4"/>`,
  );
  return `<text class="lane" x="${MARGIN}" y="${top + 16}">${title}</text>
<text class="notes" x="${WIDTH - MARGIN}" y="${top + 16}">${notes}</text>
<line class="base" x1="${MARGIN}" x2="${WIDTH - MARGIN}" y1="${base}" y2="${base}"/>
${lines.join("")}
${circles.join("")}`;
}
