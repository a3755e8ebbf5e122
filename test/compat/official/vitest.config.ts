/** Runs the official component's own tests, from its package, against `convex-rate-limits/compat`. */
import { createRequire } from "node:module";
import path from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import base from "../../../vitest.config.js";
import { NOT_RUN } from "./differences.js";

const officialSource = path.resolve(
  createRequire(import.meta.url).resolve("@convex-dev/rate-limiter/package.json"),
  "../src",
);
const own = (file: string) => path.resolve(import.meta.dirname, "../../..", file);
const ADAPTER = own("test/compat/official/adapter.ts");

/** What a module of theirs imports, and the module of ours that it gets. */
const REPLACED: Readonly<Record<string, string>> = {
  "client/index.test.ts ./index.js": own("src/compat/index.ts"),
  "client/setup.test.ts ../test.js": ADAPTER,
  "shared.test.ts ./shared.js": own("src/compat/index.ts"),
  "react/index.test.ts ./index.js": own("src/compat/react.ts"),
  "component/lib.test.ts ./schema.js": ADAPTER,
  "component/lib.test.ts ./setup.test.js": ADAPTER,
  "component/getValue.test.ts ./schema.js": ADAPTER,
  "component/getValue.test.ts ./setup.test.js": ADAPTER,
};

const redirect: Plugin = {
  name: "the official tests import this package",
  enforce: "pre",
  resolveId: (source, importer) =>
    importer && REPLACED[`${path.relative(officialSource, importer.split("?")[0] ?? "")} ${source}`],
};

export default defineConfig({
  plugins: [redirect],
  resolve: base.resolve,
  test: {
    root: officialSource,
    dir: officialSource,
    include: ["**/*.test.ts"],
    exclude: Object.keys(NOT_RUN),
    maxWorkers: 1,
    isolate: false,
    // Their suite expects that only the tests move the clock.
    setupFiles: own("test/support/date.ts"),
    fakeTimers: { now: Date.UTC(2026, 0, 1) },
    server: { deps: { inline: ["convex-test"] } },
  },
});
