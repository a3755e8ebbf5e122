// @vitest-environment node
import { expect, it } from "vitest";
import ts from "typescript";
import { entryPoints, lines } from "./files.js";
import { openProgram, pathOf } from "./program.js";

/** What the entries of the package export: values, and types alone. */
function exported(): Map<string, string> {
  const program = openProgram();
  const checker = program.getTypeChecker();
  const counts = new Map<string, string>();
  for (const [entry, file] of entryPoints) {
    const source = program.getSourceFiles().find((candidate) => pathOf(candidate) === file);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module || !file.startsWith("src/")) continue;
    const names = checker.getExportsOfModule(module);
    const isValue = (symbol: ts.Symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return (target.flags & ts.SymbolFlags.Value) !== 0;
    };
    const values = names.filter(isValue).length;
    counts.set(entry, `${values} | ${names.length - values}`);
  }
  return counts;
}

it("the architecture says how many names each entry exports", { timeout: 60_000 }, () => {
  const rows = lines("ARCHITECTURE.md").flatMap((line) => {
    const [, entry, values, types] = /^\| `(\.[\w/]*)` +\| +(\d+) +\| +(\d+) +\|/.exec(line) ?? [];
    return entry === undefined ? [] : [[entry, `${values} | ${types}`] as const];
  });
  expect(new Map(rows)).toEqual(exported());
});
