/** What the CLI sends to a deployment and what codegen reads in the response. Names are the protocol's. */

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
  readonly functions: readonly Module[];
}

interface AppRequest {
  /** Absent when the app has no convex.config.ts. */
  readonly definition: Module | null;
  readonly dependencies: readonly string[];
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

/** What `export()` of an evaluated convex.config.js returns, as far as codegen reads it. */
export interface ExportedDefinition {
  readonly name?: string;
  readonly childComponents: readonly unknown[];
  readonly envVars?: readonly unknown[];
}

/** The public functions of a component by module and name, as a tree. */
export type ExportTree =
  | { readonly type: "leaf"; readonly leaf: string }
  | { readonly type: "branch"; readonly branch: readonly (readonly [string, ExportTree])[] };
