/** An app and its components: their functions and tables, and the resolution of references. */
import { getFunctionAddress, type GenericSchema, type SchemaDefinition } from "convex/server";
import { qualifiedName } from "./database.js";
import type { Store } from "./store.js";
import type { IndexFields } from "./table.js";

/** A component: its schema, the modules of its functions, and the components that it uses. The app is the root of the tree. */
export interface Component {
  readonly schema?: SchemaDefinition<GenericSchema, boolean>;
  readonly modules?: Readonly<Record<string, object>>;
  readonly children?: Readonly<Record<string, Component>>;
}

/** The path of the app itself. */
export const ROOT = "";

/** The platform's own table of scheduled functions; every component has one. */
export const JOBS = "_scheduled_functions";

/** The function that its author wrote, which a registered function has as `_handler`. */
export type Handler = (ctx: unknown, args: unknown) => unknown;

/** The address of a function. `component` is the path of component names that leads to it. */
export interface Address {
  readonly component: string;
  readonly module: string;
  readonly name: string;
}

export class Deployment {
  readonly #components = new Map<string, Component>();
  /** The indexes of each table. */
  readonly #tables = new Map<string, IndexFields>();

  constructor(app: Component) {
    this.#add(ROOT, app);
  }

  createTables(store: Store): void {
    for (const [name, fields] of this.#tables) store.defineTable(name, fields);
  }

  /** The address that a reference or a function handle means in code of the component `from`. */
  resolve(reference: unknown, from: string): Address {
    const address = getFunctionAddress(reference) as { name?: string; reference?: string; functionHandle?: string };
    if (address.functionHandle !== undefined) return JSON.parse(address.functionHandle.slice(HANDLE.length)) as Address;
    if (address.name !== undefined) {
      const [module = "", name = ""] = address.name.split(":");
      return { component: from, module, name };
    }
    // "_reference/childComponent/<name>/<module>/<function>"
    const [, kind, child, ...rest] = (address.reference ?? "").split("/");
    const name = rest.pop();
    if (kind !== "childComponent" || child === undefined || name === undefined) {
      throw new Error(`Cannot resolve ${JSON.stringify(address)}.`);
    }
    return { component: from === ROOT ? child : `${from}/${child}`, module: rest.join("/"), name };
  }

  createHandle(reference: unknown, from: string): string {
    return HANDLE + JSON.stringify(this.resolve(reference, from));
  }

  handler({ component, module, name }: Address): Handler {
    const functions = this.#components.get(component)?.modules?.[module] as Record<string, unknown> | undefined;
    const registered = functions?.[name] as { _handler?: Handler } | undefined;
    if (!registered?._handler) throw new Error(`There is no function ${component}/${module}:${name}.`);
    return registered._handler;
  }

  #add(path: string, component: Component): void {
    this.#components.set(path, component);
    this.#tables.set(qualifiedName(path, JOBS), {});
    for (const { tableName, indexes } of component.schema ? exportTables(component.schema) : []) {
      const fields = indexes.map(({ indexDescriptor, fields }) => [indexDescriptor, fields] as const);
      this.#tables.set(qualifiedName(path, tableName), Object.fromEntries(fields));
    }
    for (const [name, child] of Object.entries(component.children ?? {})) {
      this.#add(path === ROOT ? name : `${path}/${name}`, child);
    }
  }
}

const HANDLE = "function://";

interface ExportedTable {
  readonly tableName: string;
  readonly indexes: readonly { readonly indexDescriptor: string; readonly fields: readonly string[] }[];
}

function exportTables(schema: SchemaDefinition<GenericSchema, boolean>): readonly ExportedTable[] {
  // The CLI sends this JSON to a deployment. The method is not in the public types.
  const exported = (schema as unknown as { export: () => string }).export();
  return (JSON.parse(exported) as { tables: ExportedTable[] }).tables;
}
