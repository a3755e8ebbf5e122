/** Both libraries in convex-test. There is no bundler, so the maps of modules are read from the file system. */
import { readdirSync } from "node:fs";
import { defineSchema, type GenericSchema, type SchemaDefinition } from "convex/server";
import { convexTest } from "convex-test";
import workerSchema from "../../node_modules/@convex-dev/batch-worker/dist/component/schema.js";
import peerSchema from "../../node_modules/@convex-dev/rate-limiter/dist/component/schema.js";
import componentSchema from "../../convex/schema.js";
import { rateLimitTables } from "../../src/storage/schema.js";

type Modules = Record<string, () => Promise<Record<string, unknown>>>;

/** The modules of a component's directory, in the form that `import.meta.glob` returns. */
function modulesIn(directory: string): Modules {
  const base = new URL(`../../${directory}/`, import.meta.url);
  const files = readdirSync(base, { recursive: true, encoding: "utf8" }).filter(
    // The bundler alone uses component definitions. Source maps and declarations are not modules.
    (file) => /\.(ts|js)$/.test(file) && !file.endsWith(".d.ts") && !file.startsWith("convex.config"),
  );
  return Object.fromEntries(
    files.map((file) => [`./${file}`, async () => (await import(new URL(file, base).href)) as Record<string, unknown>]),
  );
}

/** An empty app needs a _generated directory, because convex-test finds the app's root by it. */
const noModules: Modules = { "./_generated/api.ts": async () => await Promise.resolve({}) };

/** Opens a new backend with this package's table in the app, this package's component, and the peer's component. */
export function openBackend() {
  const t = convexTest({ schema: defineSchema(rateLimitTables), modules: noModules });
  const register = (path: string, schema: unknown, directory: string) => {
    // To the types, the schema's class is another copy of the same class.
    t.registerComponent(path, schema as SchemaDefinition<GenericSchema, boolean>, modulesIn(directory));
  };
  register("rateLimits", componentSchema, "convex");
  register("rateLimiter", peerSchema, "node_modules/@convex-dev/rate-limiter/dist/component");
  register("rateLimiter/batchWorker", workerSchema, "node_modules/@convex-dev/batch-worker/dist/component");
  return t;
}
