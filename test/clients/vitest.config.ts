import { defineConfig, mergeConfig } from "vitest/config";
import base from "../../vitest.config.js";

// npm run check:clients runs real clients in real time, so it is not part of npm test.
export default mergeConfig(
  defineConfig({ ...base, test: { ...base.test, include: [] } }),
  defineConfig({
    root: new URL("../..", import.meta.url).pathname,
    test: { environment: "node", include: ["test/clients/*.check.ts"], testTimeout: 60_000 },
  }),
);
