import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { executedIn } from "../../scripts/countCall/executed.js";
import { root } from "./files.js";

/** What one plain `rateLimit` in the app's tables may execute: files of src/, and their named functions. */
const MOST_FILES = 9;
const MOST_FUNCTIONS = 22;

describe("a plain call", () => {
  it("executes few files and few named functions", () => {
    const tsx = path.join(root, "node_modules/tsx/dist/cli.mjs");
    const script = path.join(root, "scripts/countCall/main.ts");
    const printed = execFileSync(process.execPath, [tsx, script, "--json"], { cwd: root, encoding: "utf8" });
    const { files } = JSON.parse(printed) as { files: Record<string, string[]> };
    const functions = Object.values(files).flat();
    // Not a count of nothing: a call decides and touches its row.
    for (const room of ["src/engine/", "src/storage/"]) {
      expect(Object.keys(files).some((file) => file.startsWith(room))).toBe(true);
    }
    expect(Object.keys(files).length).toBeLessThanOrEqual(MOST_FILES);
    expect(functions.length).toBeLessThanOrEqual(MOST_FUNCTIONS);
  });
});

describe("the count", () => {
  const range = (startOffset: number, count: number) => [{ startOffset, endOffset: startOffset + 1, count }];
  const script = (url: string, functions: [name: string, start: number, count: number][]) => ({
    scriptId: url,
    url,
    functions: functions.map(([functionName, start, count]) => ({
      functionName,
      ranges: range(start, count),
      isBlockCoverage: false,
    })),
  });

  it("leaves out functions that were not executed, scripts of others, and what the loader adds", () => {
    const scripts = [
      script("b", [
        ["second", 20, 1],
        ["first", 10, 3],
        ["never", 30, 0],
        ["__name", 0, 9],
      ]),
      script("a", [["", 0, 1]]),
      script("idle", [["never", 0, 0]]),
      script("foreign", [["call", 0, 1]]),
    ];
    const executed = executedIn(scripts, (url) => (url === "foreign" ? undefined : url));
    expect(executed).toEqual({ a: [], b: ["first", "second"] });
  });
});
