/** What `npx convex dev` would generate here, by hand: this app is only ever run by a test. */
import { type GenericQueryCtx, type MutationBuilder, mutationGeneric } from "convex/server";
import type { DataModel } from "./dataModel.js";

export type QueryCtx = GenericQueryCtx<DataModel>;
export const mutation = mutationGeneric as MutationBuilder<DataModel, "public">;
