import { configDefaults, defineConfig } from "vitest/config";
import base, { repository } from "../../vitest.config.js";

// npm run check:repository tests documents, names, imports, releases and the compiler's messages, not the behaviour of limits.
export default defineConfig({
  ...base,
  root: new URL("../..", import.meta.url).pathname,
  test: {
    ...base.test,
    // Without test/support/date.ts, so that the documents' tests run on the clock that users of convex-test have.
    setupFiles: "test/support/random.ts",
    include: repository,
    exclude: [...configDefaults.exclude, "test/package/app/**"],
  },
});
