import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect, it } from "vitest";
import { root } from "./files.js";

/** The most files of src/, and named functions in them, that one plain `rateLimit` in the app's tables may execute. */
const MOST_FILES = 9;
const MOST_FUNCTIONS = 22;

it("a plain call executes few files and few named functions", () => {
  const tsx = path.join(root, "node_modules/tsx/dist/cli.mjs");
  const script = path.join(root, "scripts/countCall/main.ts");
  const printed = execFileSync(process.execPath, [tsx, script, "--json"], { cwd: root, encoding: "utf8" });
  const { files } = JSON.parse(printed) as { files: Record<string, string[]> };
  const functions = Object.values(files).flat();
  // The count includes the whole way from the call to its row, so it is not a count of nothing.
  expect(functions).toEqual(expect.arrayContaining(["rateLimit", "consume", "decide", "readRows", "write"]));
  expect(Object.keys(files).length).toBeLessThanOrEqual(MOST_FILES);
  expect(functions.length).toBeLessThanOrEqual(MOST_FUNCTIONS);
});
