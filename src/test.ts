/** For users of convex-test: puts the component into a test backend. */
import type { TestConvex } from "convex-test";
import type { GenericSchema, SchemaDefinition } from "convex/server";
import schema from "../convex/schema.js";

/**
 * Written out, since a bundler's `import.meta.glob` works in sources only, and the package ships what they compile to.
 */
const modules: Record<string, () => Promise<unknown>> = {
  "../convex/_generated/api.js": () => import("../convex/_generated/api.js"),
  "../convex/convex.config.js": () => import("../convex/convex.config.js"),
  "../convex/public.js": () => import("../convex/public.js"),
  "../convex/queue.js": () => import("../convex/queue.js"),
  "../convex/schema.js": () => import("../convex/schema.js"),
  "../convex/snapshots.js": () => import("../convex/snapshots.js"),
  "../convex/sweep.js": () => import("../convex/sweep.js"),
  "../convex/upkeep.js": () => import("../convex/upkeep.js"),
  "../convex/worker.js": () => import("../convex/worker.js"),
};

/**
 * Registers the component under the name it has in `convex.config.ts`.
 *
 * @example
 * ```ts
 * import { convexTest } from "convex-test";
 * import { register } from "convex-rate-limits/test";
 *
 * const t = convexTest({ modules: {} });
 * register(t);
 * ```
 */
export function register(t: TestConvex<SchemaDefinition<GenericSchema, boolean>>, name = "rateLimits"): void {
  t.registerComponent(name, schema, modules);
}

/** A named type: the compiler would write the schema's out in full. */
const installed: { register: typeof register; schema: typeof schema; modules: typeof modules } = {
  register,
  schema,
  modules,
};
export default installed;
