/** The requests of the CLI to a deployment, and the parts of the response that the CLI reads. Names are the protocol's. */

/** A bundled module. */
export interface Module {
  readonly path: string;
  readonly source: string;
  readonly environment: "isolate" | "node";
}

export interface ComponentRequest {
  readonly definitionPath: string;
  /** The bundled convex.config.js. */
  readonly definition: Module;
  /** The paths of the components that this one uses. */
  readonly dependencies: readonly string[];
  readonly schema: Module | null;
  readonly functions: readonly Module[];
}

interface AppRequest {
  /** Absent when the app has no convex.config.ts. */
  readonly definition: Module | null;
  readonly dependencies: readonly string[];
  readonly schema: Module | null;
  readonly changedModules: readonly Module[];
}

export interface PushRequest {
  readonly appDefinition: AppRequest;
  readonly componentDefinitions: readonly ComponentRequest[];
}

export interface AnalyzedFunction {
  readonly name: string;
  readonly pos: null;
  readonly udfType: "Query" | "Mutation" | "Action";
  readonly visibility: { readonly kind: "public" | "internal" };
  /** The validator of the arguments as JSON text; `returns` is that of the result. */
  readonly args: string | null;
  readonly returns: string | null;
}

export interface AnalyzedModule {
  readonly functions: readonly AnalyzedFunction[];
  readonly httpRoutes: null;
  readonly cronSpecs: null;
  readonly sourceMapped: null;
}

/** The functions that each module registers, by the module's path. */
export type AnalyzedModules = Readonly<Record<string, AnalyzedModule>>;

/** One use of a component: `app.use(component, { name })`. */
interface ChildComponent {
  readonly name: string;
  /** The path of the definition. */
  readonly path: string;
}

/** The parts of the result of `export()` of an evaluated convex.config.js that the response contains. */
export interface ExportedDefinition {
  readonly name?: string;
  readonly childComponents: readonly ChildComponent[];
  readonly envVars?: readonly unknown[];
}

/** The public functions of a component by module and name, as a tree. */
export type ExportTree =
  | { readonly type: "leaf"; readonly leaf: string }
  | { readonly type: "branch"; readonly branch: readonly (readonly [string, ExportTree])[] };

/** One instance of a component, with the instances of the components that it uses. */
export interface CheckedComponent {
  readonly definitionPath: string;
  readonly componentPath: string;
  readonly args: Readonly<Record<string, never>>;
  readonly childComponents: Readonly<Record<string, CheckedComponent>>;
  readonly httpRoutes: { readonly httpModuleRoutes: null; readonly mounts: readonly string[] };
  readonly exports: Readonly<Record<string, never>>;
}
