/** The rooms of src and convex, and their drawing in ARCHITECTURE.md. */

/** The rooms that each room may import besides itself. A room that is not listed fails the test below: decide what it may import. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  index: ["client"],
  http: ["client", "engine", "wire"],
  compat: ["client", "browser", "engine", "wire", "generated"],
  browser: ["wire"],
  eslint: [],
  client: ["queue", "operations", "storage", "engine", "wire", "generated"],
  queue: ["operations", "storage", "engine", "wire"],
  operations: ["storage", "engine", "wire"],
  storage: ["engine", "wire"],
  engine: ["wire"],
  wire: [],
  convex: ["queue", "operations", "wire", "generated"],
  test: ["convex", "generated"],
  generated: [],
};

/** Where each room is drawn: its middle. The main way of a call goes down the left. Rooms that are one file are not drawn. */
const PLACES: Readonly<Record<string, readonly [x: number, y: number]>> = {
  http: [330, 40],
  compat: [530, 40],
  eslint: [700, 40],
  client: [330, 120],
  convex: [110, 120],
  queue: [330, 200],
  operations: [330, 280],
  storage: [330, 360],
  browser: [610, 440],
  engine: [330, 440],
  wire: [330, 520],
};
const [WIDTH, HEIGHT] = [110, 36];

/** The rooms as boxes, and the arrows of the table: straight to the next room below, and bent around those that it passes. */
export function drawing(): string {
  const arrows = Object.entries(MAY_IMPORT).flatMap(([from, rooms]) => rooms.flatMap((to) => arrow(from, to)));
  const boxes = Object.entries(PLACES).map(
    ([room, [x, y]]) =>
      `<rect class="box" x="${x - WIDTH / 2}" y="${y - HEIGHT / 2}" width="${WIDTH}" height="${HEIGHT}" rx="6"/>` +
      `<text x="${x}" y="${y + 5}">${room}</text>`,
  );
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 560" role="img" aria-label="Which room may import which">',
    "<style>",
    "text { font: 14px system-ui, sans-serif; fill: #374151; text-anchor: middle }",
    ".box { fill: none; stroke: #9ca3af; stroke-width: 1.5 } path { fill: none; stroke: #1d4ed8; stroke-opacity: .55 }",
    "@media (prefers-color-scheme: dark) { text { fill: #d1d5db } .box { stroke: #6b7280 } path { stroke: #60a5fa } }",
    "</style>",
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">',
    '<path d="M0 0L8 4L0 8" style="stroke-opacity:1"/></marker></defs>',
    ...arrows,
    ...boxes,
    "</svg>",
    "",
  ].join("\n");
}

function arrow(from: string, to: string): string[] {
  const [start, end] = [PLACES[from], PLACES[to]];
  if (!start || !end) return [];
  const [x1, y1, x2, y2] = [start[0], start[1] + HEIGHT / 2, end[0], end[1] - HEIGHT / 2];
  const isNext = y2 - y1 < 60;
  // Arrows to the right of the main way end at the side of a box.
  if (x1 === x2 && !isNext) {
    const [side, far] = [x1 + WIDTH / 2, x1 + WIDTH / 2 + (y2 - y1) / 3];
    return [path(`M${side} ${start[1]}C${far} ${start[1]} ${far} ${end[1]} ${side} ${end[1]}`)];
  }
  if (isNext || x1 === x2) return [path(`M${x1} ${y1}L${x2} ${y2}`)];
  const side = x2 + (x1 > x2 ? WIDTH / 2 : -WIDTH / 2);
  return [path(`M${x1} ${y1}C${x1} ${end[1]} ${x1} ${end[1]} ${side} ${end[1]}`)];
}

function path(d: string): string {
  return `<path d="${d}" marker-end="url(#tip)"/>`;
}
