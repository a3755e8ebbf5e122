/** The code that `npx convex dev` would generate, written by hand, since only a test runs this app. */
import {
  type ActionBuilder,
  actionGeneric,
  type DataModelFromSchemaDefinition,
  internalMutationGeneric,
  type MutationBuilder,
  mutationGeneric,
  type QueryBuilder,
  queryGeneric,
} from "convex/server";
import type schema from "../schema.js";

type DataModel = DataModelFromSchemaDefinition<typeof schema>;
export const query = queryGeneric as QueryBuilder<DataModel, "public">;
export const mutation = mutationGeneric as MutationBuilder<DataModel, "public">;
export const internalMutation = internalMutationGeneric as MutationBuilder<DataModel, "internal">;
export const action = actionGeneric as ActionBuilder<DataModel, "public">;
