import ts from "typescript";
import { describe, expect, it } from "vitest";
import { entryPoints, files, filesIn, lines, read } from "./files.js";
import { openProgram, pathOf, walk } from "./program.js";

const program = openProgram();
const checker = program.getTypeChecker();
const projectFiles = program.getSourceFiles().filter((file) => files.includes(pathOf(file)));
const sources = projectFiles.filter((file) => pathOf(file).startsWith("src/"));
const engine = sources.filter((file) => pathOf(file).startsWith("src/engine/"));

/** Every node for which `isWrong` returns true: "file:line text". */
function where(within: readonly ts.SourceFile[], isWrong: (node: ts.Node) => boolean): string[] {
  const found: string[] = [];
  for (const file of within) {
    walk(file, (node) => {
      if (!isWrong(node)) return;
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      found.push(`${pathOf(file)}:${line + 1} ${node.getText(file)}`);
    });
  }
  return found;
}

describe("the engine", () => {
  // arrows.test.ts tests that it imports no other room.
  it("imports no package, and from the wire form only types", () => {
    expect(engine.map(pathOf)).toContain("src/engine/decide.ts");
    const foreign = engine.flatMap((file) =>
      ts.preProcessFile(file.text, true, true).importedFiles.flatMap(({ fileName, pos }) => {
        const isOfTypes = /^import type [^;]*$/m.test(file.text.slice(0, pos).split(";").at(-1) ?? "");
        return fileName.startsWith(".") && (isOfTypes || !fileName.includes("/wire/")) ? [] : [pathOf(file), fileName];
      }),
    );
    expect(foreign).toEqual([]);
  });

  it("uses no clock, no random numbers and no await", () => {
    const names =
      "Array Error Float64Array Infinity JSON Map Math Number Object Set String Boolean BigInt NaN undefined";
    const pure = new Set(names.split(" "));
    const impure = where(engine, (node) => {
      if (ts.isAwaitExpression(node) || node.kind === ts.SyntaxKind.AsyncKeyword) return true;
      if (ts.isPropertyAccessExpression(node) && node.getText() === "Math.random") return true;
      if (!ts.isIdentifier(node) || !isGlobalValue(node) || pure.has(node.text)) return false;
      // A calendar's days depend on the time zone's rules, which only the platform has.
      return !(node.text === "Intl" && pathOf(node.getSourceFile()).startsWith("src/engine/kinds/"));
    });
    expect(impure).toEqual([]);
  });
});

/** Whether an identifier names a value of the platform, not of a file of the project. */
function isGlobalValue(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return false;
  // The field that a pattern reads.
  if (ts.isBindingElement(parent) && parent.propertyName === node) return false;
  // A label of a tuple's element.
  if (ts.isNamedTupleMember(parent)) return false;
  if (ts.isTypeReferenceNode(parent) || ts.isQualifiedName(parent) || ts.isExpressionWithTypeArguments(parent))
    return false;
  const declarations = checker.getSymbolAtLocation(node)?.declarations ?? [];
  // globalThis and undefined have no declarations.
  return declarations.every((declaration) => declaration.getSourceFile().fileName.includes("node_modules"));
}

describe("the source", () => {
  it("uses the database only in the files for rows, jobs, terms and workers", () => {
    const storage = ["src/storage/rows.ts", "src/storage/jobs.ts"];
    const queue = ["rows", "sweep", "tables", "terms", "worker"].map((name) => `src/queue/${name}.ts`);
    const rooms = [...storage, ...queue];
    const elsewhere = projectFiles.filter(
      (file) => /^(src|convex)\//.test(pathOf(file)) && !rooms.includes(pathOf(file)),
    );
    expect(where(elsewhere, (node) => ts.isIdentifier(node) && node.text === "db")).toEqual([]);
  });

  it("reads the clock and random numbers only where operations, answers and displays begin", () => {
    const allowed =
      /^src\/(operations\/|queue\/(settle|start|sweep|terms|worker)\.ts$|http\/|compat\/|browser\/(serverClock|watch)\.ts$|client\/(decision|exposure|jobs)\.ts$)/;
    const elsewhere = projectFiles.filter(
      (file) => /^(src|convex)\//.test(pathOf(file)) && !allowed.test(pathOf(file)),
    );
    const here = projectFiles.filter((file) => allowed.test(pathOf(file)));
    expect(where(here, readsClockOrChance).length).toBeGreaterThan(10);
    expect(where(elsewhere, readsClockOrChance)).toEqual([]);
  });

  it("asks for the kind of a limit only in src/engine/kinds", () => {
    const elsewhere = projectFiles.filter((file) => /^(src|convex)\/(?!engine\/kinds\/)/.test(pathOf(file)));
    const asking = new Set(where(elsewhere, asksForKind).map((found) => found.split(":")[0]));
    // The official component has two kinds of its own: a new kind of ours does not change this file.
    const official = ["src/compat/official.ts"];
    expect([...asking].sort()).toEqual(official);
  });

  it.each([
    ["if (a.config.kind !== other) f();", true],
    ["switch (limit.config.kind) {}", true],
    ['const table = { "fixed window": 1 };', true],
    ['if (kind === "token bucket") f();', true],
    ['switch (kind) { case "sliding window": f(); }', true],
    ['const config = { kind: "fixed window" };', false],
  ])("asks for a kind in %s: %s", (text, asks) => {
    const source = ts.createSourceFile("a.ts", text, ts.ScriptTarget.Latest, true);
    expect(where([source], asksForKind).length > 0).toBe(asks);
  });

  it("names no folder outside the repository", () => {
    const outside = new RegExp(["/work/", "/home/", "/root/", "/tmp/bash"].join("|"));
    const text = files.filter((file) => /\.(ts|tsx|js|md|json|yml|css|html|sh)$/.test(file) && file !== SELF);
    const isOdd = (file: string) => outside.test(read(file)) || (file.endsWith(".md") && read(file).includes("/tmp/"));
    expect(text.filter(isOdd)).toEqual([]);
  });

  it("has no line wider than 120 columns, comments included", () => {
    const code = [...filesIn("src"), ...filesIn("convex")].filter((file) => /\.tsx?$/.test(file));
    const wide = code.flatMap((file) =>
      lines(file).flatMap((line, i) => (line.length > 120 ? [`${file}:${i + 1}`] : [])),
    );
    expect(wide).toEqual([]);
  });

  it("has no file of more than 200 lines", () => {
    const long = [...filesIn("src"), ...filesIn("convex")].filter((file) => lines(file).length > 200);
    expect(long).toEqual([]);
  });

  it("has a test for each file of the engine, in the same place below test/", () => {
    const own = filesIn("src/engine").map((file) => file.replace(/^src/, "test").replace(/\.ts$/, ".test.ts"));
    expect(own.length).toBeGreaterThan(20);
    expect(own.filter((file) => !files.includes(file))).toEqual([]);
  });

  it("has no file with an empty name such as utils or common", () => {
    const names = /(^|\/)(utils?|helpers?|shared|lib|common|misc)(\/|\.[^/]*$)/i;
    expect(files.filter((file) => names.test(file))).toEqual([]);
  });

  it("exports from each entry as many names as ARCHITECTURE.md lists with a reason", () => {
    const said = lines("ARCHITECTURE.md").flatMap((line) => {
      const [, entry, values, types] = /^\| `(\.[\w/]*)` +\| +(\d+) +\| +(\d+) +\| +\S/.exec(line) ?? [];
      return entry === undefined ? [] : [`${entry}: ${values} values, ${types} types`];
    });
    const exported = [...entryPoints].flatMap(([entry, path]) => {
      const file = sources.find((source) => pathOf(source) === path);
      const module = file && checker.getSymbolAtLocation(file);
      if (!module) return [];
      const names = checker.getExportsOfModule(module);
      const values = names.filter((symbol) => (targetOf(symbol).flags & ts.SymbolFlags.Value) !== 0);
      return [`${entry}: ${values.length} values, ${names.length - values.length} types`];
    });
    expect(said.sort()).toEqual(exported.sort());
  });

  it("has no test that is skipped, focused or postponed", () => {
    const put = new RegExp(`\\b(it|test|describe)\\.(${["skip", "only", "todo", "fails"].join("|")})`);
    expect(files.filter((file) => /\.tsx?$/.test(file) && put.test(read(file)))).toEqual([]);
  });
});

/** The symbol that a name refers to, where it was declared. */
function targetOf(symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

const KINDS = ["token bucket", "fixed window", "sliding window", "concurrency"];

/** Whether a node is part of a comparison with a kind or its name, of a `switch` on one, or of a table by kind. */
function asksForKind(node: ts.Node): boolean {
  const { parent } = node;
  const isName = ts.isStringLiteral(node) && KINDS.includes(node.text);
  const isKind = ts.isPropertyAccessExpression(node) && /\b(config\.kind|kind\.name)$/.test(node.getText());
  if (isName && (ts.isCaseClause(parent) || (ts.isPropertyAssignment(parent) && parent.name === node))) return true;
  return (isKind && ts.isSwitchStatement(parent)) || ((isName || isKind) && ts.isBinaryExpression(parent));
}

const SELF = "test/tidy/source.test.ts";

function readsClockOrChance(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) {
    // crypto.subtle is used for hashes, which are the same each time.
    return /^(Date\.now|Math\.random|performance\.(now|timeOrigin)|crypto\.(?!subtle$)\w+)$/.test(node.getText());
  }
  const isDate = (callee: ts.Expression) => ts.isIdentifier(callee) && callee.text === "Date";
  if (ts.isNewExpression(node)) return isDate(node.expression) && (node.arguments ?? []).length === 0;
  return ts.isCallExpression(node) && isDate(node.expression);
}
