import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import equivalent from "../../scripts/mutants/equivalent.json" with { type: "json" };
import { listedAs, staleAmong } from "../../scripts/mutants/equivalent.js";
import { filesOf, sampleLines } from "../../scripts/mutants/files.js";
import { effort } from "../support/random.js";
import { root } from "../tidy/files.js";

const tsx = path.join(root, "node_modules/tsx/dist/cli.mjs");
const PLANTED = "test/mutants/planted/larger.ts";

/** This runs the tool for 15 s, so it only runs every night. */
if (effort >= 1) {
  describe("npm run mutants", () => {
    let status: number | null;
    let output: string;
    beforeAll(() => {
      const tests = ["--tests", "test/mutants/planted/*.tests.ts"];
      const equivalent = ["--equivalent", "test/mutants/planted/equivalent.json"];
      const command = [tsx, "scripts/mutants/main.ts", PLANTED, ...tests, ...equivalent];
      ({ status, stdout: output } = spawnSync(process.execPath, command, { cwd: root, encoding: "utf8" }));
    }, 120_000);

    it("reports a survivor with file, line, and text without and with the fault, and fails", () => {
      expect(output).toContain(`${PLANTED}:7\n- return a < 10;\n+ return a <= 10;\n`);
      expect(status).toBe(1);
    });

    it("does not report faults that a test finds or that are listed as equivalent", () => {
      expect(output).not.toContain("return a >= 10");
      expect(output).not.toContain("a >= b");
      expect(output).toMatch(/^\d+ faults: 1 survived, 1 are equivalent, 1 listed in vain$/m);
    });

    it("reports faults that are listed as equivalent but do not survive", () => {
      expect(output).toContain(`listed as equivalent, but no survivor: ${PLANTED}: return a - b;`);
    });
  });
}

describe("the list of equivalent faults", () => {
  const survivor = { file: "a.ts", line: 3, place: "a.ts:3:1-3:6", before: "a < b", after: "a <= b" };
  const entry = { file: "a.ts", before: "a < b", after: "a <= b", reason: "They are never equal." };

  it("matches an entry by its text, on any line, and only with a reason", () => {
    expect(listedAs({ ...survivor, line: 9 }, [entry])).toBe(entry);
    expect(listedAs(survivor, [{ ...entry, reason: " " }])).toBeUndefined();
    expect(listedAs({ ...survivor, after: "true" }, [entry])).toBeUndefined();
    expect(listedAs({ ...survivor, file: "b.ts" }, [entry])).toBeUndefined();
  });

  it("accepts entries of files that were not tested", () => {
    expect(staleAmong([entry], ["b.ts"], [])).toEqual([]);
    expect(staleAmong([entry], ["a.ts"], [])).toEqual([entry]);
    expect(staleAmong([entry], ["a.ts"], [survivor])).toEqual([]);
  });
});

it("a sample consists of lines of code, and is the same for the same seed", () => {
  const all = sampleLines(root, [PLANTED], 100, 1);
  expect([...all].sort()).toEqual([2, 3, 6, 7].map((line) => `${PLANTED}:${line}-${line}`));
  const engine = filesOf(root, ["src/engine"]);
  const sample = sampleLines(root, engine, 10, 7);
  expect(sample).toHaveLength(10);
  expect(sampleLines(root, engine, 10, 7)).toEqual(sample);
  expect(sampleLines(root, engine, 10, 8)).not.toEqual(sample);
});

it("each fault that is listed as equivalent is one of code that is there", () => {
  const bare = (code: string) => code.replaceAll(/[\s,;()]+/g, "");
  const gone = equivalent.filter(({ file, before }) => {
    return !bare(readFileSync(path.join(root, file), "utf8")).includes(bare(before));
  });
  expect(equivalent).not.toEqual([]);
  expect(gone).toEqual([]);
});
