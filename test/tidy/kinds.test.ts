// @vitest-environment node
/** Whatever depends on a limit's kind is in src/engine/kinds; nothing else asks for it. */
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { files, read } from "./files.js";
import { walk } from "./program.js";

/** Until each of these takes what it needs from the kind. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "src/http/quota.ts": "the window of a rate-limit header depends on the kind",
  "src/react/liveStatus.ts": "the next moment at which a display changes depends on the kind",
};

const KINDS = ["token bucket", "fixed window", "sliding window"];

/** Comparisons with a kind's name, and `case` clauses of one: "file:line text". */
function asksIn(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  walk(source, (node) => {
    const isKind = ts.isStringLiteral(node) && KINDS.includes(node.text);
    if (!isKind || !(ts.isBinaryExpression(node.parent) || ts.isCaseClause(node.parent))) return;
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
    found.push(`${file}:${line + 1} ${node.parent.getText(source).split("\n")[0]}`);
  });
  return found;
}

const elsewhere = files.filter(
  (file) => /^(src|convex)\/.*\.tsx?$/.test(file) && !file.startsWith("src/engine/kinds/"),
);

describe("the kind of a limit", () => {
  it("is asked for in src/engine/kinds only", () => {
    const asked = elsewhere.filter((file) => !Object.hasOwn(EXCEPTIONS, file));
    expect(asked.flatMap((file) => asksIn(file, read(file)))).toEqual([]);
  });

  it("has no exception that nothing needs", () => {
    const needless = Object.keys(EXCEPTIONS).filter(
      (file) => !files.includes(file) || asksIn(file, read(file)).length === 0,
    );
    expect(needless).toEqual([]);
  });

  it("would be found in a comparison and in a switch", () => {
    expect(asksIn("a.ts", 'if (config.kind === "token bucket") f();')).toHaveLength(1);
    expect(asksIn("a.ts", 'switch (kind) { case "sliding window": f(); }')).toHaveLength(1);
    expect(asksIn("a.ts", 'const config = { kind: "fixed window" };')).toEqual([]);
  });
});
