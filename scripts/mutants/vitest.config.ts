/** The settings of the tests on planted faults. They run in process, nearest to the engine first, with the same random numbers. */
import { configDefaults } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base, { repository } from "../../vitest.config.js";

/** The tests nearest to the engine. They find almost every fault, so only survivors of these run with the others. */
const NEAR = ["engine", "storage", "operations", "laws"];
const FAR = ["browser", "client", "http", "queue", "oracle"];

/** Files that take long and find few faults that the others do not find. Every surviving fault would have to wait for them. */
const SLOW = [
  "test/client/{liveQueries,misuse,types}.test.ts",
  "test/laws/inexact.test.ts",
  "test/oracle/{oneRow,severalRows}.test.ts",
  "test/queue/{bound,figures,model}.test.ts",
];

class NearestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      [...NEAR, ...FAR, ""].findIndex((folder) => moduleId.includes(`/test/${folder}`));
    return Promise.resolve([...files].sort((a, b) => rank(a) - rank(b) || (a.moduleId < b.moduleId ? -1 : 1)));
  }
}

const { MUTANTS_TESTS: tests = "near", MUTANTS_SLOW: slow } = process.env;
const chosen: Record<string, string[]> = {
  near: [`test/{${NEAR.join(",")}}/**/*.test.ts`],
  far: [`test/{${FAR.join(",")}}/**/*.test.ts`],
};

export default {
  ...base,
  test: {
    ...base.test,
    include: chosen[tests] ?? [tests],
    exclude: [
      ...configDefaults.exclude,
      // These tests read files and run compilers, so they find no faults.
      ...repository,
      ...(slow === undefined ? SLOW : []),
    ],
    setupFiles: ["test/support/date.ts", "test/support/random.ts", "scripts/mutants/setup.ts"],
    sequence: { sequencer: NearestFirst },
    // StrykerJS runs them in a thread, which takes none.
    execArgv: [],
    reporters: ["default"],
  },
};
