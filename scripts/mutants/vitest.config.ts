/** The settings of the tests on planted faults. They run in process, nearest to the engine first, with the same random numbers. */
import { configDefaults } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base, { repository } from "../../vitest.config.js";

/** Folders of tests, the fastest and nearest to the engine first. The first ones find most faults. */
const FOLDERS = ["engine", "storage", "operations", "client", "queue", "laws", "model", "http"];

/** Files that take long and find few faults that the others do not find. Every surviving fault would have to wait for them. */
const SLOW = [
  "test/client/{fingerprint,liveQueries,misuse,types}.test.ts",
  "test/model/*.test.ts",
  "test/queue/{bound,figures,model}.test.ts",
];

class NearestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      FOLDERS.findIndex((folder) => moduleId.includes(`/test/${folder}/`));
    return Promise.resolve([...files].sort((a, b) => rank(a) - rank(b) || (a.moduleId < b.moduleId ? -1 : 1)));
  }
}

export default {
  ...base,
  test: {
    ...base.test,
    include: process.env["MUTANTS_TESTS"]
      ? [process.env["MUTANTS_TESTS"]]
      : // The one file of test/http whose tests use more of an answer than other tests do.
        [`test/{${FOLDERS.slice(0, -1).join(",")}}/**/*.test.ts`, "test/http/overrides.test.ts"],
    exclude: [
      ...configDefaults.exclude,
      // These tests read files and run compilers, so they find no faults.
      ...repository,
      ...(process.env["MUTANTS_SLOW"] === undefined ? SLOW : []),
    ],
    setupFiles: ["scripts/mutants/sameSeed.ts"],
    sequence: { sequencer: NearestFirst },
    reporters: ["default"],
  },
};
