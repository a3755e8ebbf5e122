/** All code that depends on a limit's kind is in src/engine/kinds. Other code does not ask for the kind. */
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { files, read } from "./files.js";
import { walk } from "./program.js";

/** Files of the official component's API, which has two kinds of its own: a new kind of ours does not change them. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "src/compat/calculate.ts": "its calculateRateLimit gets the kind as an argument",
  "src/compat/config.ts": "its configs allow `start: null` in token buckets",
  "src/compat/value.ts": "its getValue returns the window's start",
};

const KINDS = ["token bucket", "fixed window", "sliding window"];

/** The lines that compare a kind or a kind's name, have a `case` for one, or are a table by kind: "file:line text". */
function asksIn(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  walk(source, (node) => {
    const { parent } = node;
    const isName = ts.isStringLiteral(node) && KINDS.includes(node.text);
    const isKind = ts.isPropertyAccessExpression(node) && /\b(config\.kind|kind\.name)$/.test(node.getText(source));
    const isCompared = (isName || isKind) && ts.isBinaryExpression(parent);
    const isCase = (isName && ts.isCaseClause(parent)) || (isKind && ts.isSwitchStatement(parent));
    const isTable = isName && ts.isPropertyAssignment(parent) && parent.name === node;
    if (!isCompared && !isCase && !isTable) return;
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
    found.push(`${file}:${line + 1} ${parent.getText(source).split("\n")[0]}`);
  });
  // Both sides of one comparison may be found.
  return [...new Set(found)];
}

const elsewhere = files.filter(
  (file) => /^(src|convex)\/.*\.tsx?$/.test(file) && !file.startsWith("src/engine/kinds/"),
);

describe("the kind of a limit", () => {
  it("is only asked for in src/engine/kinds", () => {
    const asked = elsewhere.filter((file) => !Object.hasOwn(EXCEPTIONS, file));
    expect(asked.flatMap((file) => asksIn(file, read(file)))).toEqual([]);
  });

  it("has no unused exception", () => {
    const needless = Object.keys(EXCEPTIONS).filter(
      (file) => !files.includes(file) || asksIn(file, read(file)).length === 0,
    );
    expect(needless).toEqual([]);
  });

  it("is found in a comparison, in a switch and in a table", () => {
    expect(asksIn("a.ts", "if (a.config.kind !== other) f();")).toHaveLength(1);
    expect(asksIn("a.ts", "if (limit.kind.name === other) f();")).toHaveLength(1);
    expect(asksIn("a.ts", "switch (limit.config.kind) {}")).toHaveLength(1);
    expect(asksIn("a.ts", 'const table = { "fixed window": 1 };')).toHaveLength(1);
    expect(asksIn("a.ts", 'if (config.kind === "token bucket") f();')).toHaveLength(1);
    expect(asksIn("a.ts", 'switch (kind) { case "sliding window": f(); }')).toHaveLength(1);
    expect(asksIn("a.ts", 'const config = { kind: "fixed window" };')).toEqual([]);
  });
});
