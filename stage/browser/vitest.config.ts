import { defineConfig } from "vitest/config";
import type { Reporter, TestModule } from "vitest/node";

// .ci/run counts the tests in this file (JSON).
const { VITEST_REPORT: report } = process.env;

/** Prints the totals as the last line. */
const closingLine: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const passed = tests.filter((test) => test.result().state === "passed").length;
    const unloaded = modules.filter((module) => module.errors().length > 0).length;
    process.on("exit", () => {
      console.log(`${passed} passed, ${tests.length - passed + unloaded} failed`);
    });
  },
};

export default defineConfig({
  root: import.meta.dirname,
  // Resolves the package's own name to its sources, so that no build is needed.
  resolve: { tsconfigPaths: true },
  test: {
    environment: "node",
    include: ["*.test.ts"],
    globalSetup: "./build.ts",
    // Only one browser at a time, because the pages keep the processor busy, and some tests measure how late a button is.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    reporters: [
      "default",
      closingLine,
      ...(report ? [["json", { outputFile: report }] as ["json", { outputFile: string }]] : []),
    ],
  },
});
