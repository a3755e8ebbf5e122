/** The two homes behind one face, so that one suite can hold both to the same laws. */
import {
  componentsGeneric,
  defineSchema,
  type DataModelFromSchemaDefinition,
  type GenericMutationCtx,
  type GenericQueryCtx,
} from "convex/server";
import { convexTest } from "convex-test";
import {
  type ComponentHome,
  defineRateLimits,
  type RateLimitDefinitions,
  type RateLimits,
  rateLimitTables,
  type TablesHome,
} from "convex-rate-limits";
import { register } from "convex-rate-limits/test";
import type { ComponentApi } from "../convex/_generated/component.js";

export const schema = defineSchema(rateLimitTables);
export type DataModel = DataModelFromSchemaDefinition<typeof schema>;
export type QueryCtx = GenericQueryCtx<DataModel>;
export type MutationCtx = GenericMutationCtx<DataModel>;

/** convex-test looks for the app's modules at a path of this shape; the tests' functions are all inline. */
const modules = { "./_generated/api.ts": async () => await Promise.resolve({}) };

// The reference is the same one that codegen gives an app; only its type is not inferred here.
export const component = (componentsGeneric() as unknown as { rateLimits: ComponentApi }).rateLimits;

export const homeNames = ["tables", "component"] as const;
export type HomeName = (typeof homeNames)[number];

/** Limits of either home, usable with a context that fits both. */
export type AnyRateLimits = RateLimits<RateLimitDefinitions, TablesHome & ComponentHome>;

/** A fresh backend with the table and the component; `more` are modules of functions that can be scheduled. */
export function openBackend(more: Record<string, () => Promise<object>> = {}) {
  const t = convexTest({ schema, modules: { ...modules, ...more } });
  register(t);
  return t;
}
export type Backend = ReturnType<typeof openBackend>;

export function defineIn(home: HomeName, limits: RateLimitDefinitions): AnyRateLimits {
  return home === "tables" ? defineRateLimits(limits) : defineRateLimits(limits, { component });
}
