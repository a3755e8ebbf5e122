/** The example's backend on the embedded engine (convex-test), with the component. It loads the source files without a build. */
import { readdir } from "node:fs/promises";
import { convexTest, type TestConvex } from "convex-test";
import component from "../../convex/schema.js";
import schema from "../convex/schema.js";

/** Modules by path, as convex-test expects them. Bundlers make this map with `import.meta.glob`. */
type Modules = Record<string, () => Promise<unknown>>;

export type Backend = TestConvex<typeof schema>;

/** A fresh, empty backend. */
export function openBackend(): Backend {
  const backend = convexTest({ schema, modules: appModules });
  backend.registerComponent("rateLimits", component, componentModules);
  return backend;
}

const appModules = await modulesIn(new URL("../convex/", import.meta.url));
const componentModules = await modulesIn(new URL("../../convex/", import.meta.url));

/**
 * The modules of a folder. They are loaded now and not at the first call: that is inside a transaction, where convex-test forbids
 * the timers that a loader may use.
 */
async function modulesIn(directory: URL): Promise<Modules> {
  const modules: Modules = {};
  for (const path of await readdir(directory, { recursive: true })) {
    if (!isModule(path)) continue;
    const loaded: unknown = await import(new URL(path, directory).href);
    modules[`./${path}`] = () => Promise.resolve(loaded);
  }
  return modules;
}

/** Whether a file is a module of the app. `convex.config.ts` is not: it describes the app for the CLI. */
function isModule(path: string): boolean {
  return /\.[jt]s$/.test(path) && !path.endsWith(".d.ts") && path !== "convex.config.ts";
}
