import { readFileSync } from "node:fs";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { documents } from "./test/docs/pages.js";

// .ci/run sets both: it counts the tests in the report (JSON), and measures the coverage in the same run.
const { VITEST_REPORT: report, COVERAGE: coverage } = process.env;

/**
 * The tests of the repository, of its tools and of its types, which read files, simulate peers and run compilers:
 * `npm run check:repository`.
 */
export const repository = [
  "test/{assistants,bench,docs,load,mutants,package,release,tidy}/**/*.test.ts",
  "test/client/{autocompletion,compilerMessages}.test.ts",
  "test/compat/official/official.test.ts",
  "test/eslint/noIgnoredResult.test.ts",
  "test/stage/{code,site}.test.ts",
  // The load of a page, and figures that the documents quote.
  "test/example/page.test.ts",
  "test/queue/figures.test.ts",
  "tools/{backend,deployment,prove}/**/*.test.ts",
  "tools/simulator/test/{auto,backend,committer,conflicts,libraries,oracle,permits,syscalls}.test.ts",
];

/**
 * Runs one environment after the other, and in each the longest files first. Vitest reuses a worker only for files of the same
 * environment, and a new worker loads all modules again. In mixed order the files took a third more time.
 */
class ByEnvironment extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const environments = new Map(
      files.map(({ moduleId }) => [
        moduleId,
        /^\/\/ @vitest-environment (\S+)/.exec(readFileSync(moduleId, "utf8"))?.[1] ?? "node",
      ]),
    );
    const rank = ({ moduleId }: TestSpecification) => environments.get(moduleId) ?? "";
    return (await super.sort(files)).sort((a, b) => rank(b).localeCompare(rank(a)));
  }
}

const source = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  plugins: [documents()],
  resolve: {
    // Resolves the package's own name, as its users import it, to the source, so that tests need no build.
    alias: [
      { find: /^convex-rate-limits$/, replacement: source("src/index.ts") },
      { find: /^convex-rate-limits\/component$/, replacement: source("src/client/component.ts") },
      { find: /^convex-rate-limits\/component\/queue$/, replacement: source("src/client/componentQueue.ts") },
      { find: /^convex-rate-limits\/jobs$/, replacement: source("src/client/jobs.ts") },
      { find: /^convex-rate-limits\/live$/, replacement: source("src/client/live.ts") },
      { find: /^convex-rate-limits\/queue$/, replacement: source("src/client/queue.ts") },
      { find: /^convex-rate-limits\/queue\/schema$/, replacement: source("src/storage/queueSchema.ts") },
      { find: /^convex-rate-limits\/admin$/, replacement: source("src/client/admin.ts") },
      { find: /^convex-rate-limits\/schema$/, replacement: source("src/storage/schema.ts") },
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
    environment: "node",
    setupFiles: ["test/support/date.ts", "test/support/random.ts"],
    // Properties and whole programs run under coverage, on two cores that other programs also use.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    include: ["{test,tools}/**/*.test.ts"],
    // The default leaves one processor to the watcher, which is half of two.
    maxWorkers: "100%",
    // Files share the modules that a worker has loaded. Loading them again for each file takes a third of the time.
    isolate: false,
    // Load tests make much garbage that dies young.
    execArgv: ["--max-semi-space-size=64"],
    sequence: { sequencer: ByEnvironment },
    exclude: [...configDefaults.exclude, ...repository],
    server: { deps: { inline: ["convex-test"] } },
    // A green run prints nothing, so that a new warning or stack trace is seen. A test mocks the output that it expects.
    onConsoleLog: () => {
      process.exitCode = 1;
    },
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    coverage: {
      // Istanbul counts in the code itself. Merging V8's counts of all workers lost some counts, and different ones in every run.
      provider: "istanbul",
      enabled: coverage !== undefined,
      // Only the files that must be covered completely. Counting in all other files would double the time.
      include: ["src/engine/**/*.ts", "src/operations/**/*.ts"],
      reporter: ["text"],
      // Code that decides must not have a branch that no test takes.
      thresholds: {
        branches: 100,
        functions: 100,
        lines: 100,
        statements: 100,
      },
    },
  },
});
