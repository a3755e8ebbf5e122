import { defineConfig } from "vitest/config";

// .ci/run counts the tests in this file (JSON) and measures the coverage in the same run.
const { VITEST_REPORT: report, COVERAGE: coverage } = process.env;

const source = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    // The package's own name, as its users import it, without a build.
    alias: [
      { find: /^convex-rate-limits$/, replacement: source("src/index.ts") },
      { find: /^convex-rate-limits\/http$/, replacement: source("src/http/index.ts") },
      { find: /^convex-rate-limits\/react$/, replacement: source("src/react/index.ts") },
      { find: /^convex-rate-limits\/client$/, replacement: source("src/browser/index.ts") },
      { find: /^convex-rate-limits\/test$/, replacement: source("src/test.ts") },
      { find: /^convex-rate-limits\/convex\.config(\.js)?$/, replacement: source("convex/convex.config.ts") },
    ],
  },
  test: {
    environment: "edge-runtime",
    // Properties and whole programs under coverage, on two cores that others use as well.
    testTimeout: 60_000,
    include: ["test/**/*.test.ts"],
    server: { deps: { inline: ["convex-test"] } },
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    coverage: {
      provider: "v8",
      enabled: coverage !== undefined,
      include: ["src/**/*.ts", "convex/*.ts"],
      reporter: ["text"],
      // What decides must not hold a branch that no test takes.
      thresholds: {
        "src/engine/**": { branches: 100, functions: 100, lines: 100, statements: 100 },
        "src/{operations,ask,parts,all,adjust}.ts": { branches: 100, functions: 100, lines: 100, statements: 100 },
      },
    },
  },
});
