import type { GenericActionCtx, GenericDataModel } from "convex/server";

/** What an HTTP action's ctx offers whatever the app's data model is. */
export type HttpCtx = Omit<GenericActionCtx<GenericDataModel>, "vectorSearch">;
