/** What a deployment answers to the first step of a push: every component and the app, evaluated and analyzed. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { version } from "convex";
import { analyzeModules, exportTree, load } from "./modules.js";
import {
  type AnalyzedModules,
  type ComponentRequest,
  type ExportedDefinition,
  type ExportTree,
  type Module,
  type PushRequest,
} from "./wire.js";

/** The CLI's name for the app among the definitions. */
const APP = "";

export async function analyzePush({ appDefinition, componentDefinitions }: PushRequest) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "convex-codegen-"));
  try {
    writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
    const names = new Map<string, string>();
    const analysis: Record<string, Analysis> = {};
    for (const component of childrenFirst(componentDefinitions)) {
      const { definitionPath, definition, functions } = component;
      const place = path.join(folder, `component${names.size}`);
      const exported = await evaluate(place, definition, component.dependencies, names);
      const name = exported.name ?? "";
      names.set(definitionPath, name);
      const modules = await analyzeModules(path.join(place, "functions"), functions);
      const type = { type: "childComponent", name } as const;
      analysis[definitionPath] = analysisOf(definitionPath, type, exported, modules, exportTree(modules));
    }
    const place = path.join(folder, "app");
    const { definition, dependencies, changedModules } = appDefinition;
    const exported = definition ? await evaluate(place, definition, dependencies, names) : { childComponents: [] };
    const modules = await analyzeModules(path.join(place, "functions"), changedModules);
    // Nothing refers to the app's functions by a path: it is nobody's component.
    analysis[APP] = analysisOf(APP, { type: "app" }, exported, modules, { type: "branch", branch: [] });
    return pushResponse(analysis);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Analysis = ReturnType<typeof analysisOf>;

function analysisOf(
  definitionPath: string,
  definitionType: { readonly type: "app" } | { readonly type: "childComponent"; readonly name: string },
  { childComponents, envVars = [] }: ExportedDefinition,
  functions: AnalyzedModules,
  exports: ExportTree,
) {
  return {
    definition: { path: definitionPath, definitionType, childComponents, httpMounts: {}, exports, envVars },
    schema: null,
    functions,
    udfConfig: { serverVersion: version, importPhaseRngSeed: null, importPhaseUnixTimestamp: null },
  };
}

/** The rest of the response, which codegen parses and does not use. */
function pushResponse(analysis: Readonly<Record<string, Analysis>>) {
  return {
    environmentVariables: {},
    externalDepsId: null,
    componentDefinitionPackages: {},
    appAuth: [],
    analysis,
    app: {
      definitionPath: APP,
      componentPath: "",
      args: {},
      childComponents: {},
      httpRoutes: { httpModuleRoutes: null, mounts: [] },
      exports: {},
    },
    schemaChange: { allocatedComponentIds: {}, schemaIds: {} },
  };
}

/** A component is evaluated after those it uses, whose names it asks for. */
function childrenFirst(components: readonly ComponentRequest[]): ComponentRequest[] {
  const ordered: ComponentRequest[] = [];
  let left = [...components];
  while (left.length > 0) {
    const done = new Set(ordered.map(({ definitionPath }) => definitionPath));
    const ready = left.filter(({ dependencies }) => dependencies.every((dependency) => done.has(dependency)));
    if (ready.length === 0)
      throw new Error(`components use each other: ${left.map((c) => c.definitionPath).join(", ")}`);
    ordered.push(...ready);
    left = left.filter((component) => !ready.includes(component));
  }
  return ordered;
}

/**
 * Evaluates a bundled convex.config.js. The bundle imports each component it uses from `./_componentDeps/` and the component's
 * path in base64url; a deployment puts a module there that says where the component is and what it is called.
 */
async function evaluate(
  folder: string,
  definition: Module,
  dependencies: readonly string[],
  names: ReadonlyMap<string, string>,
): Promise<ExportedDefinition> {
  for (const dependency of dependencies) {
    const encoded = Buffer.from(dependency).toString("base64url");
    const child = { componentDefinitionPath: dependency, defaultName: names.get(dependency) };
    await load(path.join(folder, "_componentDeps", `${encoded}.mjs`), `export default ${JSON.stringify(child)};`);
  }
  // Node loads no module without an extension.
  const source = definition.source.replace(/(\.\/_componentDeps\/[\w-]+)(["'])/g, "$1.mjs$2");
  const { default: evaluated } = await load(path.join(folder, "config.mjs"), source);
  return (evaluated as { export(): ExportedDefinition }).export();
}
