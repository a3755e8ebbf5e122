import { defineConfig } from "vitest/config";
import type { Reporter, TestModule } from "vitest/node";

// .ci/run counts the tests in this file (JSON).
const { VITEST_REPORT: report } = process.env;

/** The last line says it all. */
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
  // The package's own name, as its users import it, without a build.
  resolve: { tsconfigPaths: true },
  test: {
    environment: "node",
    include: ["*.test.ts"],
    globalSetup: "./build.ts",
    // One browser after the other: the pages keep the processor busy.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: [
      "default",
      closingLine,
      ...(report ? [["json", { outputFile: report }] as ["json", { outputFile: string }]] : []),
    ],
  },
});
