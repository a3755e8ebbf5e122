/**
 * The TypeScript blocks of one document, as the app that its reader would build. A block that begins with a comment such as
 * "// convex/limits.ts" is that file; any other block is a file of its own in convex/. If a document writes a file again, the app
 * before the change is one app, and the rest of the document continues with the changed app.
 */
import type { Block } from "./blocks.js";

export interface AppFile {
  readonly text: string;
  /** The block it comes from; undefined for files that Convex would generate. */
  readonly block: Block | undefined;
}

/** The files of an app, by their paths within it. */
export type App = ReadonlyMap<string, AppFile>;

const PATH = /^\/\/ ((?:convex|src)\/[\w./-]+\.tsx?)(?:$|\s)/;

export function appsIn(blocks: readonly Block[]): App[] {
  const apps: App[] = [];
  let app = new Map<string, AppFile>();
  for (const block of blocks) {
    const named = PATH.exec(block.code)?.[1];
    const path = named ?? `convex/line${block.line}.${block.language}`;
    if (app.has(path)) {
      apps.push(withGenerated(app));
      // Blocks without a path are compiled with the app before the change only.
      app = new Map([...app].filter(([file]) => !/^convex\/line\d+\./.test(file)));
    }
    // Without an import or an export the file would be a script, and all scripts share their names.
    app.set(path, { text: `${block.code}\nexport {};\n`, block });
  }
  apps.push(withGenerated(app));
  return apps;
}

/** The app with the files that `npx convex dev` would generate: the same types, from the app's modules and schema. */
export function withGenerated(app: App): App {
  const modules = [...app.keys()].filter(
    (file) => /^convex\/[\w/]+\.ts$/.test(file) && !/\/(schema|http|crons)\.ts$/.test(file),
  );
  const generated = {
    api: apiOf(
      modules.map((file) => file.slice("convex/".length, -".ts".length)),
      installedIn(app.get("convex/convex.config.ts")?.text ?? ""),
    ),
    dataModel: app.has("convex/schema.ts") ? DATA_MODEL : `${DATA_MODEL_HEAD}export type DataModel = AnyDataModel;\n`,
    server: SERVER,
  };
  const files = Object.entries(generated).map(
    ([name, text]) => [`convex/_generated/${name}.ts`, { text, block: undefined }] as const,
  );
  return new Map([...app, ...files]);
}

/** The packages of the components that an app's convex.config.ts installs, by name. Each is imported under its own name. */
function installedIn(config: string): Map<string, string> {
  const imports = [...config.matchAll(/^import (\w+) from "(.+)\/convex\.config\.js";$/gm)];
  return new Map(imports.map(([, name = "", from = ""]) => [name, from]));
}

function apiOf(modules: readonly string[], installed: ReadonlyMap<string, string>): string {
  const name = (module: string) => module.replaceAll("/", "_");
  return [
    'import type { ApiFromModules, FilterApi, FunctionReference } from "convex/server";',
    ...modules.map((module) => `import type * as ${name(module)} from "../${module}.js";`),
    `declare const all: ApiFromModules<{ ${modules.map((module) => `"${module}": typeof ${name(module)}`).join("; ")} }>;`,
    'export declare const api: FilterApi<typeof all, FunctionReference<any, "public">>;',
    'export declare const internal: FilterApi<typeof all, FunctionReference<any, "internal">>;',
    "export declare const components: {",
    // A page may use the component without showing how it is installed.
    ...[...new Map([["rateLimits", "convex-rate-limits"], ...installed])].map(
      ([component, from]) => `  ${component}: import("${from}/_generated/component.js").ComponentApi<"${component}">;`,
    ),
    "};",
  ].join("\n");
}

const DATA_MODEL_HEAD = `import type { AnyDataModel, DataModelFromSchemaDefinition, DocumentByName, TableNamesInDataModel } from "convex/server";
import type { GenericId } from "convex/values";
export type TableNames = TableNamesInDataModel<DataModel>;
export type Doc<Table extends TableNames> = DocumentByName<DataModel, Table>;
export type Id<Table extends TableNames> = GenericId<Table>;
`;
const DATA_MODEL = `${DATA_MODEL_HEAD}import type schema from "../schema.js";
export type DataModel = DataModelFromSchemaDefinition<typeof schema>;
`;
const SERVER = `import type * as server from "convex/server";
import type { DataModel } from "./dataModel.js";
export declare const query: server.QueryBuilder<DataModel, "public">;
export declare const internalQuery: server.QueryBuilder<DataModel, "internal">;
export declare const mutation: server.MutationBuilder<DataModel, "public">;
export declare const internalMutation: server.MutationBuilder<DataModel, "internal">;
export declare const action: server.ActionBuilder<DataModel, "public">;
export declare const internalAction: server.ActionBuilder<DataModel, "internal">;
export declare const httpAction: server.HttpActionBuilder;
export type QueryCtx = server.GenericQueryCtx<DataModel>;
export type MutationCtx = server.GenericMutationCtx<DataModel>;
export type ActionCtx = server.GenericActionCtx<DataModel>;
`;
