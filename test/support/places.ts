/** The two homes behind one face, so that one suite can hold both to the same laws. */
import {
  componentsGeneric,
  defineSchema,
  type DataModelFromSchemaDefinition,
  type FunctionReference,
  type GenericMutationCtx,
  type GenericQueryCtx,
  mutationGeneric,
  queryGeneric,
} from "convex/server";
import { v } from "convex/values";
import { convexTest } from "convex-test";
import {
  type ComponentHome,
  defineRateLimits,
  type RateLimitDefinitions,
  type RateLimits,
  rateLimitTables,
  type TablesHome,
} from "convex-rate-limits";
import installed from "convex-rate-limits/test";
import type { ComponentApi } from "../../convex/_generated/component.js";

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

/** A row of the table, without what the database adds. */
export interface StoredRow {
  name: string;
  key?: string;
  shard: number;
  value: number;
  ts: number;
}

/** The whole table, and a way to put in what the package would never write; in the component it takes functions of its own. */
const allRows = async ({ db }: QueryCtx): Promise<StoredRow[]> => {
  const rows = await db.query("rateLimits").collect();
  return rows.map(({ name, key, shard, value, ts }) => ({
    name,
    ...(key === undefined ? {} : { key }),
    shard,
    value,
    ts,
  }));
};
const plant = async ({ db }: MutationCtx, row: StoredRow): Promise<null> => {
  await db.insert("rateLimits", row);
  return null;
};
const rowsModule = {
  all: queryGeneric({ handler: (ctx: unknown) => allRows(ctx as QueryCtx) }),
  plant: mutationGeneric({
    args: { row: v.any() },
    handler: (ctx, { row }: { row: StoredRow }) => plant(ctx as MutationCtx, row),
  }),
};
const rowsInComponent = (
  component as unknown as {
    rows: {
      all: FunctionReference<"query", "internal", Record<string, never>, StoredRow[]>;
      plant: FunctionReference<"mutation", "internal", { row: StoredRow }, null>;
    };
  }
).rows;

/** A fresh backend with the table and the component; `more` are modules of functions that can be scheduled. */
export function openBackend(more: Record<string, () => Promise<object>> = {}) {
  const t = convexTest({ schema, modules: { ...modules, ...more } });
  t.registerComponent("rateLimits", installed.schema, {
    ...installed.modules,
    "../convex/rows.ts": () => Promise.resolve(rowsModule),
  });
  return t;
}

export function rowsIn(home: HomeName, t: Backend): Promise<StoredRow[]> {
  return t.query((ctx) => (home === "tables" ? allRows(ctx) : ctx.runQuery(rowsInComponent.all, {})));
}

export function plantIn(home: HomeName, t: Backend, row: StoredRow): Promise<null> {
  return t.mutation((ctx) => (home === "tables" ? plant(ctx, row) : ctx.runMutation(rowsInComponent.plant, { row })));
}
export type Backend = ReturnType<typeof openBackend>;

export function defineIn(home: HomeName, limits: RateLimitDefinitions): AnyRateLimits {
  return home === "tables" ? defineRateLimits(limits) : defineRateLimits(limits, { component });
}
