/**
 * Makes the compiler's output smaller, without changing a line of code. Indentation becomes tabs. Types that no entry leads to are removed.
 * Documentation comments are removed from generated code and from the `.js` files: their readers are in this repository, and
 * users read them in the types. Other comments stay, such as `@__PURE__`.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";

const DOCUMENTATION = /^ *\/\*\*[^]*?\*\/\n/gm;

const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as { exports: Record<string, { types?: string }> };
const entries = Object.values(exports).flatMap(({ types }) => types ?? []);
const options = { module: ts.ModuleKind.NodeNext, skipLibCheck: true, types: [] };
const program = ts.createProgram(entries, options);
const needed = new Set(program.getSourceFiles().map(({ fileName }) => path.resolve(fileName)));

for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const file = path.resolve(entry.parentPath, entry.name);
  if (file.endsWith(".d.ts") && !needed.has(file)) {
    rmSync(file);
    continue;
  }
  const text = readFileSync(file, "utf8");
  const isForTools = file.endsWith(".js") || file.includes("_generated");
  writeFileSync(file, indented(isForTools ? text.replace(DOCUMENTATION, "") : text));
}

/** Indents with tabs. A file with a template string of several lines stays as it is, because spaces in that string are text. */
function indented(text: string): string {
  if (/`[^`]*\n[^`]*`/.test(text)) return text;
  return text.replace(/^(?: {4})+/gm, (spaces) => "\t".repeat(spaces.length / 4));
}
