/** How the tests run on planted faults: in process, the nearest to the engine first, with the same random numbers every time. */
import { configDefaults } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base, { repository } from "../../vitest.config.js";

/** Folders of tests from the fastest and nearest to the rest: most faults end in the first. */
const FOLDERS = ["engine", "storage", "operations", "client", "queue", "laws", "model", "http"];

/** Files that take long and find little that the others do not: each survivor would wait for them. */
const SLOW = [
  "test/client/{fingerprint,jobs,liveQueries,misuse,types}.test.ts",
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
      : // Of HTTP what asks for more of an answer than others do.
        [`test/{${FOLDERS.slice(0, -1).join(",")}}/**/*.test.ts`, "test/http/overrides.test.ts"],
    exclude: [
      ...configDefaults.exclude,
      // They read files and ask compilers: nothing there notices a fault.
      ...repository,
      ...(process.env["MUTANTS_SLOW"] === undefined ? SLOW : []),
    ],
    setupFiles: ["scripts/mutants/sameSeed.ts"],
    sequence: { sequencer: NearestFirst },
    reporters: ["default"],
  },
};
