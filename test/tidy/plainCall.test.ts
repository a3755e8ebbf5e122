import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect, it } from "vitest";
import { root } from "./files.js";

/** What one plain `rateLimit` in the app's tables may execute: files of src/, and their named functions. */
const MOST_FILES = 9;
const MOST_FUNCTIONS = 22;

it("a plain call executes few files and few named functions", () => {
  const tsx = path.join(root, "node_modules/tsx/dist/cli.mjs");
  const script = path.join(root, "scripts/countCall/main.ts");
  const printed = execFileSync(process.execPath, [tsx, script, "--json"], { cwd: root, encoding: "utf8" });
  const { files } = JSON.parse(printed) as { files: Record<string, string[]> };
  const functions = Object.values(files).flat();
  // Not a count of nothing: from the call to its row.
  expect(functions).toEqual(expect.arrayContaining(["rateLimit", "consume", "decide", "readRows", "write"]));
  expect(Object.keys(files).length).toBeLessThanOrEqual(MOST_FILES);
  expect(functions.length).toBeLessThanOrEqual(MOST_FUNCTIONS);
});
