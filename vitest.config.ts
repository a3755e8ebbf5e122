import { configDefaults, defineConfig } from "vitest/config";

// .ci/run counts the tests in this file (JSON) and measures the coverage in the same run.
const { VITEST_REPORT: report, COVERAGE: coverage, FAST: fast } = process.env;

/** What `npm run test:fast` leaves out: files that take more than 2 s on an idle machine, the slowest first. */
export const slow = [
  "test/release/deploy.test.ts",
  "test/operations/exactness.test.ts",
  "test/client/compilerMessages.test.ts",
  "test/tidy/source.test.ts",
  "test/client/jobs.test.ts",
  "test/embedded/conformance.test.ts",
  "test/model/severalRows.test.ts",
  "test/model/oneRow.test.ts",
  "test/model/wholeBackend.test.ts",
  "test/tidy/docs.test.ts",
  "test/example/site.test.ts",
  "test/client/liveQueries.test.ts",
  "test/model/interleavings.test.ts",
  "test/simulator/benches.test.ts",
  "test/queue/model.test.ts",
  "test/queue/figures.test.ts",
  "test/http/window.test.ts",
  "test/laws/equivalence.test.ts",
  "test/operations/sweep.test.ts",
  "test/engine/kinds/calendar.test.ts",
  "test/client/misuse.test.ts",
  "test/laws/bound.test.ts",
  "test/model/overrides.test.ts",
  "test/laws/transaction.test.ts",
  "test/laws/failClosed.test.ts",
  "test/laws/liveConfig.test.ts",
  "test/client/autocompletion.test.ts",
  "test/simulator/libraries.test.ts",
  "test/recipes/packages.test.ts",
  "test/model/cases.test.ts",
  "test/model/window.test.ts",
  "test/client/fingerprint.test.ts",
  "test/laws/testKind.test.ts",
  "test/http/obedience.test.ts",
  "test/operations/all.test.ts",
  "test/queue/bound.test.ts",
  "test/embedded/queue.test.ts",
];

const source = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    // The package's own name, as its users import it, without a build.
    alias: [
      { find: /^convex-rate-limits$/, replacement: source("src/index.ts") },
      { find: /^convex-rate-limits\/component$/, replacement: source("src/component/index.ts") },
      { find: /^convex-rate-limits\/queue$/, replacement: source("src/client/queue.ts") },
      { find: /^convex-rate-limits\/queue\/schema$/, replacement: source("src/schema/queue.ts") },
      { find: /^convex-rate-limits\/admin$/, replacement: source("src/client/admin.ts") },
      { find: /^convex-rate-limits\/schema$/, replacement: source("src/schema/index.ts") },
      { find: /^convex-rate-limits\/http$/, replacement: source("src/http/index.ts") },
      { find: /^convex-rate-limits\/react$/, replacement: source("src/browser/react.ts") },
      { find: /^convex-rate-limits\/compat$/, replacement: source("src/compat/index.ts") },
      { find: /^convex-rate-limits\/compat\/react$/, replacement: source("src/compat/react.ts") },
      { find: /^convex-rate-limits\/eslint$/, replacement: source("src/eslint/index.ts") },
      { find: /^convex-rate-limits\/client$/, replacement: source("src/browser/index.ts") },
      { find: /^convex-rate-limits\/test$/, replacement: source("src/test.ts") },
      { find: /^convex-rate-limits\/convex\.config(\.js)?$/, replacement: source("convex/convex.config.ts") },
    ],
  },
  test: {
    environment: "edge-runtime",
    setupFiles: "test/support/random.ts",
    // Properties and whole programs under coverage, on two cores that others use as well.
    testTimeout: 120_000,
    include: ["test/**/*.test.ts"],
    // By default one processor is left to the watcher: of two, that is half.
    maxWorkers: "100%",
    // Files share the modules that a worker has loaded: loading them anew for each file takes a third of the time.
    isolate: false,
    exclude: [...configDefaults.exclude, ...(fast === undefined ? [] : slow)],
    server: { deps: { inline: ["convex-test"] } },
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    coverage: {
      // Counts are in the code itself: merging what V8 counted in each worker lost some, other ones in every run.
      provider: "istanbul",
      enabled: coverage !== undefined,
      // Only what must be covered whole: the counts of every other file would take as long again.
      include: ["src/engine/**/*.ts", "src/operations/**/*.ts"],
      reporter: ["text"],
      // What decides must not hold a branch that no test takes.
      thresholds: {
        branches: 100,
        functions: 100,
        lines: 100,
        statements: 100,
      },
    },
  },
});
