/** Both places behind one interface, so that one suite tests both: how to open a backend, and how to read and change its rows. */
import {
  componentsGeneric,
  defineSchema,
  type DataModelFromSchemaDefinition,
  type FunctionReference,
  type GenericDatabaseWriter,
  type GenericDataModel,
  type GenericDocument,
  type GenericMutationCtx,
  type GenericQueryCtx,
  mutationGeneric,
  queryGeneric,
} from "convex/server";
import type { GenericId, Value } from "convex/values";
import { convexTest } from "convex-test";
import {
  type RateLimitConfig,
  defineRateLimits,
  type RateLimitDefinitions,
  type RateLimits,
  type RateLimitsOptions,
  type InTables,
} from "convex-rate-limits";
import { type RateLimitAdmin, rateLimitAdmin, type RateLimitOverride } from "convex-rate-limits/admin";
import { defineRateLimits as defineInComponent, type InComponent } from "convex-rate-limits/component";
import { rateLimitJobs, type RateLimitJobs } from "convex-rate-limits/jobs";
import { rateLimitLive, type RateLimitLive } from "convex-rate-limits/live";
import { rateLimitQueue as rateLimitQueueInComponent } from "convex-rate-limits/component/queue";
import { rateLimitQueue, type RateLimitQueues } from "convex-rate-limits/queue";
import { rateLimitQueueTables } from "convex-rate-limits/queue/schema";
import { rateLimitTables } from "convex-rate-limits/schema";
import installed from "convex-rate-limits/test";
import type { StoredControl } from "../../src/wire/snapshots.js";
import type { ComponentApi } from "../../convex/_generated/component.js";
import "./validators.js";

export const schema = defineSchema({ ...rateLimitTables, ...rateLimitQueueTables });
type DataModel = DataModelFromSchemaDefinition<typeof schema>;
export type QueryCtx = GenericQueryCtx<DataModel>;
export type MutationCtx = GenericMutationCtx<DataModel>;

/** convex-test looks for the app's modules at a path of this form. The tests' functions are all inline. */
const modules = { "./_generated/api.ts": async () => await Promise.resolve({}) };

// This is the reference that codegen gives an app; only its type is not inferred here.
export const component = (componentsGeneric() as unknown as { rateLimits: ComponentApi }).rateLimits;

export const placeNames = ["tables", "component"] as const;
export type PlaceName = (typeof placeNames)[number];

/** Limits in either place, for a ctx that fits both. */
export type AnyRateLimits = RateLimits<RateLimitDefinitions, InTables & InComponent> &
  RateLimitJobs<RateLimitDefinitions, InTables & InComponent> &
  RateLimitLive<RateLimitDefinitions, InTables & InComponent> &
  RateLimitAdmin<RateLimitDefinitions, InTables & InComponent> &
  RateLimitQueues<RateLimitDefinitions, InTables & InComponent>;

/** A row as it is stored. Two reads of the rows are equal if nothing was written in between. */
export interface StoredRow {
  name: string;
  key?: string;
  shard?: string;
  value: number;
  ts: number;
  /** Which of the buckets at the key, by kind and period; absent for a token bucket. */
  bucket?: string;
  /** What the control row had counted when the row was written. */
  seen?: number;
  recent?: { at: number; count: number; from?: number }[];
  headroom?: { at: number; count: number }[];
  window?: { since: number; used: number };
  /** In the control row: the override, pauses and resets. */
  override?: RateLimitOverride;
  control?: StoredControl;
  /** The plan or config under which the row was written, if not a plain definition. */
  plan?: string | RateLimitConfig;
}

type Table = "rateLimits" | "rateLimitQueue" | "rateLimitWorkers" | "rateLimitQueueTerms";

type Change = { table: Table; fields: Record<string, Value> | null; where: Record<string, Value> };

async function changeAll(db: unknown, { table, fields, where }: Change): Promise<void> {
  const anyDb = db as GenericDatabaseWriter<GenericDataModel>;
  const found = (await anyDb.query(table).collect()).filter((document) =>
    Object.entries(where).every(([name, value]) => document[name] === value),
  );
  for (const { _id } of found) {
    const id = _id as GenericId<Table>;
    if (fields === null) await anyDb.delete(id);
    else await anyDb.patch(id, fields);
  }
}

/** A module that only tests add to the component: the component itself gives no access to its rows. */
const rowsModule = {
  insert: mutationGeneric({
    handler: async (ctx, { row }: { row: StoredRow }) => {
      await ctx.db.insert("rateLimits", row);
    },
  }),
  documents: queryGeneric({
    handler: async (ctx, { table }: { table: string }) => (await ctx.db.query(table).collect()) as GenericDocument[],
  }),
  change: mutationGeneric({ handler: (ctx, change: Change): Promise<void> => changeAll(ctx.db, change) }),
};
const rowsInComponent = (
  component as unknown as {
    rows: {
      insert: FunctionReference<"mutation", "internal", { row: StoredRow }, null>;
      documents: FunctionReference<"query", "internal", { table: string }, GenericDocument[]>;
      change: FunctionReference<"mutation", "internal", Change, null>;
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

/** All rows of a place, with their ids. */
export async function rowsIn(place: PlaceName, t: Backend): Promise<(StoredRow & { _id: string })[]> {
  return (await documentsIn(place, t, "rateLimits")) as unknown as (StoredRow & { _id: string })[];
}

/** The documents of one of the package's tables. */
export async function documentsIn(place: PlaceName, t: Backend, table: Table): Promise<GenericDocument[]> {
  return await t.query(async (ctx) =>
    place === "tables" ? await ctx.db.query(table).collect() : await ctx.runQuery(rowsInComponent.documents, { table }),
  );
}

/** Changes documents as by hand: writes `fields` into those that match `where`, or deletes them if `fields` is null. */
export async function changeIn(
  place: PlaceName,
  t: Backend,
  table: Table,
  fields: Change["fields"],
  where: Change["where"] = {},
): Promise<void> {
  await t.mutation(async (ctx) => {
    if (place === "component") await ctx.runMutation(rowsInComponent.change, { table, fields, where });
    else await changeAll(ctx.db, { table, fields, where });
  });
}

/** Inserts rows that the package might never write. */
export async function insertRows(place: PlaceName, t: Backend, rows: readonly StoredRow[]): Promise<void> {
  await t.mutation(async (ctx) => {
    for (const row of rows) {
      if (place === "tables") await ctx.db.insert("rateLimits", row);
      else await ctx.runMutation(rowsInComponent.insert, { row });
    }
  });
}
export async function insertRow(place: PlaceName, t: Backend, row: StoredRow): Promise<void> {
  await insertRows(place, t, [row]);
}
export type Backend = ReturnType<typeof openBackend>;

export function defineIn(
  place: PlaceName,
  limits: RateLimitDefinitions,
  options: RateLimitsOptions<false> = {},
): AnyRateLimits {
  if (place === "tables") return withAll(defineRateLimits(limits, options));
  const defined = defineInComponent(limits, { ...options, component });
  return { ...withAll(defined), ...rateLimitQueueInComponent(defined) };
}

/** The functions of all entries, for one set of limits. */
export function withAll(limits: object): AnyRateLimits {
  const defined = limits as unknown as RateLimits<RateLimitDefinitions, InTables & InComponent>;
  const others = { ...rateLimitJobs(defined), ...rateLimitLive(defined), ...rateLimitAdmin(defined) };
  return { ...defined, ...others, ...rateLimitQueue(defined) };
}
