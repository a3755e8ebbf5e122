/** Bundled modules, loaded in this process: the functions that each registers. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { sortedJson } from "./validatorJson.js";
import {
  type AnalyzedFunction,
  type AnalyzedModule,
  type AnalyzedModules,
  type ExportTree,
  type Module,
} from "./wire.js";

/** A function as `query`, `mutation` or `action` makes it. */
interface Registered {
  readonly isQuery?: boolean;
  readonly isMutation?: boolean;
  readonly isAction?: boolean;
  readonly isPublic?: boolean;
  readonly exportArgs: () => string;
  readonly exportReturns: () => string;
}

/** Loads ECMAScript source from `file`, which is written first. */
export async function load(file: string, source: string): Promise<Record<string, unknown>> {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, source);
  return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
}

/** @param folder an empty folder, within one whose package.json says that .js files are ECMAScript modules */
export async function analyzeModules(folder: string, modules: readonly Module[]): Promise<AnalyzedModules> {
  // Modules import each other's chunks, so all are written before one is loaded.
  for (const { path: file, source } of modules) {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(folder, file), source);
  }
  const analyzed: Record<string, AnalyzedModule> = {};
  for (const { path: file, source, environment } of modules) {
    if (file.startsWith("_deps/") || environment === "node") continue;
    const exported = await load(path.join(folder, file), source);
    const functions = Object.entries(exported).flatMap(([name, value]) => functionOf(name, value) ?? []);
    analyzed[file] = { functions, httpRoutes: null, cronSpecs: null, sourceMapped: null };
  }
  return analyzed;
}

function functionOf(name: string, value: unknown): AnalyzedFunction | undefined {
  if (typeof value !== "function") return undefined;
  const registered = value as Partial<Registered>;
  const udfType = registered.isQuery
    ? "Query"
    : registered.isMutation
      ? "Mutation"
      : registered.isAction
        ? "Action"
        : undefined;
  if (udfType === undefined) return undefined;
  const { isPublic, exportArgs, exportReturns } = value as unknown as Registered;
  return {
    name,
    pos: null,
    udfType,
    visibility: { kind: isPublic ? "public" : "internal" },
    args: sortedJson(exportArgs()),
    returns: sortedJson(exportReturns()),
  };
}

/** The public functions, by the folders and names of their modules, in order. */
export function exportTree(modules: AnalyzedModules): ExportTree {
  const inOrder = Object.entries(modules).sort(([a], [b]) => (a < b ? -1 : 1));
  const references = inOrder.flatMap(([file, { functions }]) =>
    functions
      .filter(({ visibility }) => visibility.kind === "public")
      .map(({ name }) => ({
        names: [...file.replace(/\.js$/, "").split("/"), name],
        leaf: `_reference/function/${file}:${name}`,
      })),
  );
  return branchOf(references);
}

interface Reference {
  readonly names: readonly string[];
  readonly leaf: string;
}

function branchOf(references: readonly Reference[]): ExportTree {
  const children = new Map<string, Reference[]>();
  for (const { names, leaf } of references) {
    const [first = "", ...rest] = names;
    children.set(first, [...(children.get(first) ?? []), { names: rest, leaf }]);
  }
  const branch = [...children].map(([name, below]) => [name, treeOf(below)] as const);
  return { type: "branch", branch };
}

function treeOf(references: readonly Reference[]): ExportTree {
  const [first] = references;
  return first?.names.length === 0 ? { type: "leaf", leaf: first.leaf } : branchOf(references);
}
