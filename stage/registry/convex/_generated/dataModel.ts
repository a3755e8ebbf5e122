import type { DataModelFromSchemaDefinition, TableNamesInDataModel } from "convex/server";
import type { GenericId } from "convex/values";
import type schema from "../schema.js";

export type DataModel = DataModelFromSchemaDefinition<typeof schema>;
export type Id<Table extends TableNamesInDataModel<DataModel>> = GenericId<Table>;
