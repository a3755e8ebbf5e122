/** What `npx convex dev` would generate here, by hand: this app is only ever run by a test. */
import { type DataModelFromSchemaDefinition, type MutationBuilder, mutationGeneric } from "convex/server";
import type schema from "../schema.js";

export const mutation = mutationGeneric as MutationBuilder<DataModelFromSchemaDefinition<typeof schema>, "public">;
