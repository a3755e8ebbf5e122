/** The official component's own tests, run on `/compat` by a Vitest of their own (vitest.config.ts): each passes or is a named difference. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, it } from "vitest";
import { DIFFERENCES, NOT_RUN } from "./differences.js";

interface Report {
  testResults: {
    name: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
  }[];
}

const root = path.resolve(import.meta.dirname, "../../..");
const differences = DIFFERENCES.flatMap(({ tests, says }) => tests.map((name) => ({ name, says })));
let report: Report;

beforeAll(() => {
  const vitest = path.join(root, "node_modules/vitest/vitest.mjs");
  const command = [vitest, "run", "--config", "test/compat/official/vitest.config.ts", "--reporter=json"];
  const { stdout, stderr } = spawnSync(process.execPath, command, { cwd: root, encoding: "utf8" });
  if (!stdout.startsWith("{")) throw new Error(stderr);
  report = JSON.parse(stdout) as Report;
}, 120_000);

const results = () => report.testResults.flatMap(({ assertionResults }) => assertionResults);

it("each of their tests passes, or fails as its difference says", () => {
  const failures = results().flatMap(({ fullName: name, status, failureMessages: [message = status] }) => {
    const difference = differences.find((one) => one.name === name);
    return status === "passed"
      ? []
      : [{ name, says: difference && message.includes(difference.says) ? difference.says : message }];
  });
  const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
  expect(failures.toSorted(byName)).toEqual(differences.toSorted(byName));
});

it("all of their files are run or named, and the docs give the counts of their tests that pass, and that are not run", () => {
  const files = Object.keys(import.meta.glob("../../../node_modules/@convex-dev/rate-limiter/src/**/*.test.ts"));
  expect(report.testResults.length + Object.keys(NOT_RUN).length).toBe(files.length);
  for (const name of Object.keys(NOT_RUN))
    expect(files.filter((file) => file.endsWith(`/src/${name}`))).toHaveLength(1);
  const passed = results().filter(({ status }) => status === "passed").length;
  const page = readFileSync(path.join(root, "docs/migrating.md"), "utf8");
  expect(page).toContain(`${passed} of ${results().length} pass`);
  const skipped = files.filter((file) => /\/(internal|worker)\.test\.ts$/.test(file));
  const sources = skipped.map((file) => readFileSync(path.resolve(import.meta.dirname, file), "utf8"));
  const left = sources.flatMap((source) => source.match(/^ *(?:test|it)(?:\.each[^]*?)?\(/gm) ?? []);
  expect(page).toContain(`Another ${left.length} call private functions`);
});
