/** Both libraries in convex-test, without a bundler: module maps are read from the file system. */
import { readdirSync } from "node:fs";
import { defineSchema, type GenericSchema, type SchemaDefinition } from "convex/server";
import { convexTest } from "convex-test";
import workerSchema from "../../node_modules/@convex-dev/batch-worker/dist/component/schema.js";
import peerSchema from "../../node_modules/@convex-dev/rate-limiter/dist/component/schema.js";
import componentSchema from "../../convex/schema.js";
import { rateLimitTables } from "../../src/storage/schema.js";

type Modules = Record<string, () => Promise<Record<string, unknown>>>;

/** The modules of a component's directory, as `import.meta.glob` would give them. */
function modulesIn(directory: string): Modules {
  const base = new URL(`../../${directory}/`, import.meta.url);
  const files = readdirSync(base, { recursive: true, encoding: "utf8" }).filter(
    // Definitions of components are for the bundler; maps and declarations are no modules.
    (file) => /\.(ts|js)$/.test(file) && !file.endsWith(".d.ts") && !file.startsWith("convex.config"),
  );
  return Object.fromEntries(
    files.map((file) => [`./${file}`, async () => (await import(new URL(file, base).href)) as Record<string, unknown>]),
  );
}

/** An empty app has to have a _generated directory, for convex-test to find its root. */
const noModules: Modules = { "./_generated/api.ts": async () => await Promise.resolve({}) };

/** A fresh backend with the table of home A, the component of home B and the peer's component. */
export function openBackend() {
  const t = convexTest({ schema: defineSchema(rateLimitTables), modules: noModules });
  const register = (path: string, schema: unknown, directory: string) => {
    // Another copy of the same class, as far as the types can tell.
    t.registerComponent(path, schema as SchemaDefinition<GenericSchema, boolean>, modulesIn(directory));
  };
  register("rateLimits", componentSchema, "convex");
  register("rateLimiter", peerSchema, "node_modules/@convex-dev/rate-limiter/dist/component");
  register("rateLimiter/batchWorker", workerSchema, "node_modules/@convex-dev/batch-worker/dist/component");
  return t;
}
