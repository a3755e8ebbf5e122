/** Evaluates bundled modules, and lists the functions that each registers. */
import { evaluate, sourcesOf } from "./isolate.js";
import { nameFault, pathFault, refuseIf } from "./names.js";
import { sortedJson } from "./validatorJson.js";
import {
  type AnalyzedFunction,
  type AnalyzedModule,
  type AnalyzedModules,
  type ExportTree,
  type Module,
} from "./wire.js";

/** A function that `query`, `mutation` or `action` made. */
interface Registered {
  readonly isQuery?: boolean;
  readonly isMutation?: boolean;
  readonly isAction?: boolean;
  readonly isPublic?: boolean;
  readonly exportArgs: () => string;
  readonly exportReturns: () => string;
}

/** Evaluates every module by itself. @throws Error with a deployment's message */
export async function analyzeModules(modules: readonly Module[]): Promise<AnalyzedModules> {
  const sources = sourcesOf(modules);
  const analyzed: Record<string, AnalyzedModule> = {};
  for (const { path: file, environment } of modules) {
    refuseIf(pathFault(file));
    // The CLI bundles auth.config.js with the modules. A deployment evaluates it separately, with the app's variables.
    if (file.startsWith("_deps/") || environment === "node" || file === "auth.config.js") continue;
    const exported = await evaluate(sources, file, "at import time");
    for (const [name, mark] of Object.entries(MARKS)) {
      if (file === name && (exported["default"] as Record<string, unknown> | undefined)?.[mark] !== true)
        throw new Error(`The default export of ${file} is not what ${mark} marks`);
    }
    const functions = Object.entries(exported).flatMap(([name, value]) => functionOf(name, value) ?? []);
    analyzed[file] = { functions, httpRoutes: null, cronSpecs: null, sourceMapped: null };
  }
  return analyzed;
}

/** Modules whose default export is not a function, and the property that marks this export. */
const MARKS = { "http.js": "isRouter", "crons.js": "isCrons" };

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
  refuseIf(nameFault(name));
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

/** The tree of the public functions, by the folders and names of their modules, in order. */
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
