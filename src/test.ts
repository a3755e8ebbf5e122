/// <reference types="vite/client" />
/** For users of convex-test: puts the component into a test backend. */
import type { TestConvex } from "convex-test";
import type { GenericSchema, SchemaDefinition } from "convex/server";
import schema from "../convex/schema.js";

const modules = import.meta.glob("../convex/**/*.ts");

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

export default { register, schema, modules };
