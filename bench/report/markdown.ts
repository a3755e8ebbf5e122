/** Formats tables that are readable in a terminal and can be pasted into the docs. */

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(" | ")} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}

export function percent(share: number, digits = 2): string {
  return `${(share * 100).toFixed(digits)} %`;
}

/** `ours / peer`; if `peer` is 0 there is no ratio, so words say which of the two are 0. */
export function ratio(ours: number, peer: number): string {
  if (peer === 0) return ours === 0 ? "both 0" : "peer 0";
  return (ours / peer).toFixed(2);
}
