/** What the CLI sends to a deployment and what it reads in the response. Names are the protocol's. */

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
  /** Paths of the components that it uses. */
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
  /** Validators, as JSON text. */
  readonly args: string | null;
  readonly returns: string | null;
}

export interface AnalyzedModule {
  readonly functions: readonly AnalyzedFunction[];
  readonly httpRoutes: null;
  readonly cronSpecs: null;
  readonly sourceMapped: null;
}

/** Paths of modules → what they register. */
export type AnalyzedModules = Readonly<Record<string, AnalyzedModule>>;

/** One use of a component: `app.use(component, { name })`. */
interface ChildComponent {
  readonly name: string;
  /** The definition's. */
  readonly path: string;
}

/** What `export()` of an evaluated convex.config.js returns, as far as the response has it. */
export interface ExportedDefinition {
  readonly name?: string;
  readonly childComponents: readonly ChildComponent[];
  readonly envVars?: readonly unknown[];
}

/** The public functions of a component by module and name, as a tree. */
export type ExportTree =
  | { readonly type: "leaf"; readonly leaf: string }
  | { readonly type: "branch"; readonly branch: readonly (readonly [string, ExportTree])[] };

/** One instance of a component, with those below it. */
export interface CheckedComponent {
  readonly definitionPath: string;
  readonly componentPath: string;
  readonly args: Readonly<Record<string, never>>;
  readonly childComponents: Readonly<Record<string, CheckedComponent>>;
  readonly httpRoutes: { readonly httpModuleRoutes: null; readonly mounts: readonly string[] };
  readonly exports: Readonly<Record<string, never>>;
}
