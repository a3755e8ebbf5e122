/** What `npx convex dev` would generate here, by hand: this app is only ever run by a test. */
import { internalMutationGeneric, internalQueryGeneric, type MutationBuilder, type QueryBuilder } from "convex/server";
import type { DataModel } from "./dataModel.js";

export const internalQuery = internalQueryGeneric as QueryBuilder<DataModel, "internal">;
export const internalMutation = internalMutationGeneric as MutationBuilder<DataModel, "internal">;
