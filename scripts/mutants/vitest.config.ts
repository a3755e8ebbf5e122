/** How the tests run on planted faults: in process, the nearest to the engine first, with the same random numbers every time. */
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base from "../../vitest.config.js";

/** Folders of tests from the fastest and nearest to the rest: most faults end in the first. */
const FOLDERS = ["engine", "storage", "operations", "client", "laws", "model"];

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
    include: [process.env["MUTANTS_TESTS"] ?? `test/{${FOLDERS.join(",")}}/**/*.test.ts`],
    // The compiler and the longest scenarios say little about the engine, and each survivor waits for them.
    exclude: [...(base.test?.exclude ?? []), "test/client/{autocompletion,types,jobs,liveQueries}.test.ts"],
    setupFiles: ["scripts/mutants/sameSeed.ts"],
    sequence: { sequencer: NearestFirst },
    reporters: ["default"],
  },
};
