import { type AnyDataModel, type GenericMutationCtx, type MutationBuilder, mutationGeneric } from "convex/server";

export type MutationCtx = GenericMutationCtx<AnyDataModel>;
export const mutation = mutationGeneric as MutationBuilder<AnyDataModel, "public">;
