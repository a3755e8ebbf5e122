/** What `npx convex dev` would generate here, by hand: this app is only ever run by a test. */
import {
  type DataModelFromSchemaDefinition,
  type GenericActionCtx,
  type HttpActionBuilder,
  httpActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
  type MutationBuilder,
  type QueryBuilder,
} from "convex/server";
import type schema from "../schema.js";

type DataModel = DataModelFromSchemaDefinition<typeof schema>;

export type ActionCtx = GenericActionCtx<DataModel>;
export const internalMutation = internalMutationGeneric as MutationBuilder<DataModel, "internal">;
export const internalQuery = internalQueryGeneric as QueryBuilder<DataModel, "internal">;
export const httpAction = httpActionGeneric as HttpActionBuilder;
