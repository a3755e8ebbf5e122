/** The stored rows of either home, for tests that look at them or spoil them. */
import { componentsGeneric, type FunctionReference, mutationGeneric, queryGeneric } from "convex/server";
import testing from "convex-rate-limits/test";
import { type Backend, type HomeName, openBackend } from "./places.js";

export interface StoredRow {
  name: string;
  key?: string;
  shard: number;
  value: number;
  ts: number;
}

/** A module that only tests put into the component: the component itself lets nobody at its rows. */
const rowsModule = {
  list: queryGeneric({
    handler: async (ctx) => (await ctx.db.query("rateLimits").collect()) as (StoredRow & { _id: string })[],
  }),
  insert: mutationGeneric({
    handler: async (ctx, { row }: { row: StoredRow }) => {
      await ctx.db.insert("rateLimits", row);
    },
  }),
};
const { testRows } = (
  componentsGeneric() as unknown as {
    rateLimits: {
      testRows: {
        list: FunctionReference<"query", "internal", Record<string, never>, (StoredRow & { _id: string })[]>;
        insert: FunctionReference<"mutation", "internal", { row: StoredRow }, null>;
      };
    };
  }
).rateLimits;

/** A fresh backend, with both homes' rows within reach. */
export function openBackendWithRows(more?: Parameters<typeof openBackend>[0]): Backend {
  const t = openBackend(more);
  const modules = { ...testing.modules, "../convex/testRows.ts": () => Promise.resolve(rowsModule) };
  t.registerComponent("rateLimits", testing.schema, modules);
  return t;
}

/** All rows of a home, with their ids: two readings are equal when nothing was written in between. */
export async function readRows(t: Backend, home: HomeName): Promise<(StoredRow & { _id: string })[]> {
  return home === "tables"
    ? await t.query(async (ctx) => await ctx.db.query("rateLimits").collect())
    : await t.query(async (ctx) => await ctx.runQuery(testRows.list, {}));
}

export async function insertRow(t: Backend, home: HomeName, row: StoredRow): Promise<void> {
  await insertRows(t, home, [row]);
}

export async function insertRows(t: Backend, home: HomeName, rows: readonly StoredRow[]): Promise<void> {
  await t.mutation(async (ctx) => {
    for (const row of rows) {
      if (home === "tables") await ctx.db.insert("rateLimits", row);
      else await ctx.runMutation(testRows.insert, { row });
    }
  });
}
