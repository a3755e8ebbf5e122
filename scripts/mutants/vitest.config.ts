/** How the tests run on planted faults: in process, the nearest to the engine first, with the same random numbers every time. */
import { configDefaults } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base, { slow } from "../../vitest.config.js";

/** Folders of tests from the fastest and nearest to the rest: most faults end in the first. */
const FOLDERS = ["engine", "storage", "operations", "client", "queue", "laws", "model"];

/** Slow files without which whole files of the source are hardly tested. */
const FINDS_MANY = /^test\/(laws|engine\/kinds\/calendar|operations\/(sweep|all))/;

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
    // The compiler says nothing about a fault, and each survivor waits for the slow files: only those that find many stay.
    exclude: [
      ...configDefaults.exclude,
      "test/client/{autocompletion,compilerMessages,types}.test.ts",
      ...(process.env["MUTANTS_SLOW"] === undefined ? slow.filter((file) => !FINDS_MANY.test(file)) : []),
    ],
    setupFiles: ["scripts/mutants/sameSeed.ts"],
    sequence: { sequencer: NearestFirst },
    reporters: ["default"],
  },
};
