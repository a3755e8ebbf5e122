import { configDefaults, defineConfig } from "vitest/config";
import base, { repository } from "../../vitest.config.js";

// npm run check:repository tests documents, names, imports, releases and the compiler's messages, not the behaviour of limits.
export default defineConfig({
  ...base,
  root: new URL("../..", import.meta.url).pathname,
  test: { ...base.test, include: repository, exclude: [...configDefaults.exclude, "test/package/app/**"] },
});
