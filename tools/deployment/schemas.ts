/** The rules of a deployment for a schema: names, indexes, and the fields that indexes need. */
import { nameFault } from "./names.js";
import { fieldFault, type ValidatorJson } from "./validatorJson.js";

/** The JSON that `export()` of an evaluated schema.js returns. */
export interface SchemaJson {
  readonly tables: readonly TableJson[];
  readonly schemaValidation?: boolean;
}

interface IndexJson {
  readonly indexDescriptor: string;
  readonly fields?: readonly string[];
  readonly searchField?: string;
  readonly vectorField?: string;
  readonly filterFields?: readonly string[];
}

interface TableJson {
  readonly tableName: string;
  readonly indexes: readonly IndexJson[];
  readonly stagedDbIndexes?: readonly IndexJson[];
  readonly searchIndexes?: readonly IndexJson[];
  readonly vectorIndexes?: readonly IndexJson[];
  readonly documentType?: ValidatorJson;
}

const MOST_INDEXES = 64;
const MOST_FIELDS = 16;

/** Why a deployment refuses the schema; undefined if it accepts the schema. */
export function schemaFault(schema: SchemaJson): string | undefined {
  for (const table of schema.tables) {
    const fault = tableFault(table, schema.schemaValidation ?? false);
    if (fault !== undefined) return `In table "${table.tableName}": ${fault}`;
  }
  return undefined;
}

function tableFault(table: TableJson, validated: boolean): string | undefined {
  const { tableName, indexes, stagedDbIndexes = [], searchIndexes = [], vectorIndexes = [] } = table;
  const plain = [...indexes, ...stagedDbIndexes];
  const all = [...plain, ...searchIndexes, ...vectorIndexes];
  const names = all.map(({ indexDescriptor }) => indexDescriptor);
  const fault = nameFault(tableName) ?? (table.documentType && fieldFault(table.documentType));
  if (fault !== undefined) return fault;
  if (tableName.startsWith("_")) return "the name is reserved";
  if (all.length > MOST_INDEXES) return `cannot have more than ${MOST_INDEXES} indexes`;
  const twice = repeated(plain.map(({ fields = [] }) => fields.join()));
  if (twice !== undefined) return `two indexes have the same fields (${twice})`;
  const name = repeated(names);
  if (name !== undefined) return `two or more definitions of index "${name}"`;
  for (const index of all) {
    const wrong = indexFault(index) ?? (validated ? missingField(index, table.documentType) : undefined);
    if (wrong !== undefined) return `in index "${index.indexDescriptor}": ${wrong}`;
  }
  return undefined;
}

function indexFault({ indexDescriptor: name, fields }: IndexJson): string | undefined {
  if (name === "by_id" || name === "by_creation_time" || name.startsWith("_")) return "the name is reserved";
  const fault = nameFault(name);
  if (fault !== undefined || fields === undefined) return fault;
  if (fields.length === 0) return "must have at least one field";
  if (fields.length > MOST_FIELDS) return `indexes may have up to ${MOST_FIELDS} fields`;
  const twice = repeated(fields);
  if (twice !== undefined) return `duplicate field ${twice}`;
  const reserved = fields.find((field) => field.startsWith("_"));
  return reserved === undefined ? undefined : `${reserved} is not allowed in indexes`;
}

function missingField(index: IndexJson, document: ValidatorJson | undefined): string | undefined {
  if (document === undefined) return undefined;
  const own = [index.searchField, index.vectorField].filter((field) => field !== undefined);
  const fields = [...(index.fields ?? own), ...(index.filterFields ?? [])];
  const missing = fields.find((field) => !canContain(document, field.split(".")));
  return missing === undefined ? undefined : `the field ${missing} does not exist`;
}

function canContain(validator: ValidatorJson, path: readonly string[]): boolean {
  const [first, ...rest] = path;
  if (first === undefined || validator.type === "any") return true;
  if (validator.type === "union") return validator.value.some((member) => canContain(member, path));
  const field = validator.type === "object" ? validator.value[first] : undefined;
  return field !== undefined && canContain(field.fieldType, rest);
}

function repeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) < index);
}
