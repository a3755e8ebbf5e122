/** The list of planted faults is useful only while each fault can be planted. */
import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { files, read, root } from "../tidy/files.js";
import { faults } from "../model/faults/list.js";

describe("a planted fault", () => {
  it.each(faults.map((fault) => [fault.name, fault] as const))(
    "%s: has its place",
    (_name, { file, from, to, test }) => {
      expect(read(`src/${file}`).split(from)).toHaveLength(2);
      expect(to).not.toBe(from);
      if (test !== undefined) expect(files).toContain(test);
    },
  );

  it("is found in a copy of the repository", () => {
    const tsx = path.join(root, "node_modules/tsx/dist/cli.mjs");
    const script = path.join(root, "test/model/faults/main.ts");
    // One that has a test of its own, so nothing is played.
    const number = 1 + faults.findIndex(({ test }) => test === "test/engine/headroom.test.ts");
    const printed = execFileSync(process.execPath, [tsx, script, `${number}`], { cwd: root, encoding: "utf8" });
    expect(printed).toContain("All faults were found.");
  });
});
