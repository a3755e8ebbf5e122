/** Written by hand in place of the file that `npx convex dev` generates, because only a test runs this app. */
import {
  type HttpActionBuilder,
  httpActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
  type MutationBuilder,
  type QueryBuilder,
} from "convex/server";
import type { DataModel } from "./dataModel.js";

export const httpAction: HttpActionBuilder = httpActionGeneric;
export const internalQuery = internalQueryGeneric as QueryBuilder<DataModel, "internal">;
export const internalMutation = internalMutationGeneric as MutationBuilder<DataModel, "internal">;
