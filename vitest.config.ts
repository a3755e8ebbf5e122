import { defineConfig } from "vitest/config";

const source = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    // The package's own name, as its users import it, without a build.
    alias: [
      { find: /^convex-rate-limits$/, replacement: source("src/index.ts") },
      { find: /^convex-rate-limits\/react$/, replacement: source("src/react.ts") },
      { find: /^convex-rate-limits\/test$/, replacement: source("src/testing.ts") },
      { find: /^convex-rate-limits\/convex\.config(\.js)?$/, replacement: source("convex/convex.config.ts") },
    ],
  },
  test: {
    environment: "edge-runtime",
    include: ["test/**/*.test.ts"],
    server: { deps: { inline: ["convex-test"] } },
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts", "convex/*.ts"],
      reporter: ["text"],
    },
  },
});
