/** A deployment's answer to the first step of a push. It evaluates and analyzes every component and the app, and combines them. */
import { version } from "convex";
import { evaluate } from "./isolate.js";
import { analyzeModules, exportTree } from "./modules.js";
import { definitionPathFault, nameFault, refuseIf } from "./names.js";
import { schemaFault, type SchemaJson } from "./schemas.js";
import {
  type AnalyzedModules,
  type CheckedComponent,
  type ComponentRequest,
  type ExportedDefinition,
  type ExportTree,
  type Module,
  type PushRequest,
} from "./wire.js";

/** The CLI's name for the app among the definitions. */
const APP = "";

/** The changes of a push to the schema. They are empty, because there are no tables and the CLI reads nothing of them. */
export const NO_CHANGE = { allocatedComponentIds: {}, schemaIds: {} };

/** @throws Error with the reason why a deployment refuses the push */
export async function analyzePush({ appDefinition, componentDefinitions }: PushRequest) {
  const names = new Map<string, string>();
  const analysis: Record<string, Analysis> = {};
  for (const component of childrenFirst(componentDefinitions)) {
    const { definitionPath, definition, functions, schema } = component;
    const exported = await define(definition, names, "when evaluating component definition");
    const name = exported.name ?? "";
    refuseIf(definitionPathFault(definitionPath) ?? nameFault(name));
    const node = functions.find(({ environment }) => environment === "node");
    if (node !== undefined) throw new Error(`"use node" is not supported in components: ${node.path}`);
    names.set(definitionPath, name);
    await judgeSchema(schema);
    const modules = await analyzeModules(functions);
    const type = { type: "childComponent", name } as const;
    analysis[definitionPath] = analysisOf(definitionPath, type, exported, modules, exportTree(modules));
  }
  const { definition, changedModules, schema } = appDefinition;
  const exported = definition
    ? await define(definition, names, "when evaluating app definition")
    : { childComponents: [] };
  await judgeSchema(schema);
  const modules = await analyzeModules(changedModules);
  // The app has no exports, because no other definition uses it as a component.
  analysis[APP] = analysisOf(APP, { type: "app" }, exported, modules, { type: "branch", branch: [] });
  return {
    environmentVariables: {},
    externalDepsId: null,
    componentDefinitionPackages: {},
    appAuth: [],
    analysis,
    app: instanceOf(APP, "", analysis),
    schemaChange: NO_CHANGE,
  };
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

/** One instance of a definition, with the instances of the components that the definition uses. */
function instanceOf(path: string, place: string, analysis: Readonly<Record<string, Analysis>>): CheckedComponent {
  const used = analysis[path];
  if (used === undefined) throw new Error(`Component definition not found: ${path}`);
  const children: Record<string, CheckedComponent> = {};
  for (const child of used.definition.childComponents) {
    refuseIf(nameFault(child.name));
    if (Object.hasOwn(children, child.name))
      throw new Error(`Component "${path}" has multiple child components with the same name: ${child.name}`);
    children[child.name] = instanceOf(child.path, place === "" ? child.name : `${place}/${child.name}`, analysis);
  }
  return {
    definitionPath: path,
    componentPath: place,
    args: {},
    childComponents: children,
    httpRoutes: { httpModuleRoutes: null, mounts: [] },
    exports: {},
  };
}

/** Sorts components so that each comes after those that it uses, because its evaluation needs their names. */
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

async function judgeSchema(schema: Module | null): Promise<void> {
  if (schema === null) return;
  const exported = await evaluate(new Map([["schema.js", schema.source]]), "schema.js", "when evaluating schema");
  const evaluated = exported["default"] as { export?(): string } | undefined;
  if (evaluated?.export === undefined) throw new Error("schema.js has no default export that defineSchema made");
  refuseIf(schemaFault(JSON.parse(evaluated.export()) as SchemaJson));
}

/**
 * Evaluates a bundled convex.config.js. The bundle imports each component that it uses from `./_componentDeps/`, followed by the
 * component's path in base64url. A deployment puts a module there that exports the component's path and name.
 */
async function define(
  { source }: Module,
  names: ReadonlyMap<string, string>,
  purpose: "when evaluating app definition" | "when evaluating component definition",
): Promise<ExportedDefinition> {
  const sources = new Map([["convex.config.js", source]]);
  for (const [path, name] of names) {
    const child = { componentDefinitionPath: path, defaultName: name };
    sources.set(
      `_componentDeps/${Buffer.from(path).toString("base64url")}`,
      `export default ${JSON.stringify(child)};`,
    );
  }
  const exported = await evaluate(sources, "convex.config.js", purpose);
  const definition = exported["default"] as { export?(): ExportedDefinition } | undefined;
  if (definition?.export === undefined || Object.keys(exported).length > 1)
    throw new Error("convex.config.js must have one export, the default, made by defineApp or defineComponent");
  return definition.export();
}
