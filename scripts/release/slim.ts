/**
 * Makes what the compiler wrote smaller, without changing a line of code: tabs for indentation, and in `.js` no documentation comments,
 * which the `.d.ts` beside it has. Other comments stay: `@__PURE__` is one of them.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const DOCUMENTATION = /^ *\/\*\*[^]*?\*\/\n/gm;

for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const file = path.join(entry.parentPath, entry.name);
  const text = readFileSync(file, "utf8");
  writeFileSync(file, indented(file.endsWith(".js") ? text.replace(DOCUMENTATION, "") : text));
}

/** A template string over several lines is text, whose spaces count. */
function indented(text: string): string {
  if (/`[^`]*\n[^`]*`/.test(text)) return text;
  return text.replace(/^(?: {4})+/gm, (spaces) => "\t".repeat(spaces.length / 4));
}
