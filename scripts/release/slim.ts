/**
 * Makes the compiler's output smaller, without changing a line of code. Indentation becomes tabs. Documentation comments are removed
 * from `.js` files, because the `.d.ts` files also have them, and from generated code, whose readers are in this repository. Other
 * comments stay, such as `@__PURE__`.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const DOCUMENTATION = /^ *\/\*\*[^]*?\*\/\n/gm;

for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const file = path.join(entry.parentPath, entry.name);
  const text = readFileSync(file, "utf8");
  writeFileSync(file, indented(/\.js$|_generated/.test(file) ? text.replace(DOCUMENTATION, "") : text));
}

/** Indents with tabs. A file with a template string of several lines stays as it is, because spaces in that string are text. */
function indented(text: string): string {
  if (/`[^`]*\n[^`]*`/.test(text)) return text;
  return text.replace(/^(?: {4})+/gm, (spaces) => "\t".repeat(spaces.length / 4));
}
