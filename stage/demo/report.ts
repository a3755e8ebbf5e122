/** The output of the demo, and its verdict. */

/** Colours are for a terminal. A pipe or a log gets plain text. https://no-color.org */
const coloured = process.stdout.isTTY && !process.env["NO_COLOR"];
const paint = (code: number) => (text: string) => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text);
const bold = paint(1);
const dim = paint(2);
const red = paint(31);
const green = paint(32);

let passed = 0;
let failed = 0;

export function title(text: string): void {
  console.log(bold(text));
}

export function heading(story: string, limit: string): void {
  console.log(`\n${bold(story)}\n${dim(`   ${limit}`)}`);
}

/** Prints a part of a line at once. */
export function draw(text: string): void {
  process.stdout.write(text);
}

/** Prints lines in columns, with numbers on the right and all other cells on the left. */
export function table(rows: string[][]): void {
  const isNumber = (cell: string) => /^[+-]?[\d,]+( ms)?$/.test(cell);
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const numeric = (column: number) => rows.slice(1).some((row) => isNumber(row[column] ?? ""));
  for (const [index, row] of rows.entries()) {
    const cells = row.map((cell, column) =>
      numeric(column) ? cell.padStart(width(column)) : cell.padEnd(width(column)),
    );
    const line = `   ${cells.join("   ")}`.trimEnd();
    console.log(index === 0 ? dim(line) : line);
  }
}

/** Prints whether a law holds. `seen` is what was seen instead, printed if it does not. */
export function check(sentence: string, holds: boolean, seen?: unknown): void {
  if (holds) {
    passed++;
    console.log(`   ${green("ok")} ${sentence}`);
  } else {
    failed++;
    console.log(
      `   ${red("BROKEN")} ${sentence}${seen === undefined ? "" : `\n          seen: ${JSON.stringify(seen)}`}`,
    );
  }
}

/** Prints the totals. Returns true if no check failed. */
export function verdict(): boolean {
  const line = `${passed} checks passed, ${failed} failed`;
  console.log(`\n${failed === 0 ? green(line) : red(line)}`);
  return failed === 0;
}

export function count(tokens: number): string {
  return tokens.toLocaleString("en");
}

/** A time in words, in ms after the start of its story: "+12 ms". */
export function since(start: number, time: number): string {
  return `+${count(time - start)} ms`;
}

/** A long wait in words, to the second: "5 min 59 s". */
export function wait(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ] as const;
  return parts
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(" ");
}
