/** What `npx convex dev` would generate here, by hand: this app is only ever run by a test. */
import {
  type ActionBuilder,
  actionGeneric,
  type GenericActionCtx,
  type GenericMutationCtx,
  type HttpActionBuilder,
  httpActionGeneric,
  internalActionGeneric,
  internalMutationGeneric,
  type MutationBuilder,
  mutationGeneric,
  type QueryBuilder,
  queryGeneric,
} from "convex/server";
import type { DataModel } from "./dataModel.js";

export type MutationCtx = GenericMutationCtx<DataModel>;
export type ActionCtx = GenericActionCtx<DataModel>;
export const query = queryGeneric as QueryBuilder<DataModel, "public">;
export const httpAction: HttpActionBuilder = httpActionGeneric;
export const mutation = mutationGeneric as MutationBuilder<DataModel, "public">;
export const internalMutation = internalMutationGeneric as MutationBuilder<DataModel, "internal">;
export const action = actionGeneric as ActionBuilder<DataModel, "public">;
export const internalAction = internalActionGeneric as ActionBuilder<DataModel, "internal">;
