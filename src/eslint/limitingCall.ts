/** Which calls ask a limit and may return a denial: by types where the linter has them, by imported names and constants otherwise. */
import type { Rule, Scope, SourceCode } from "eslint";
import type { CallExpression, ImportDeclaration, Node, VariableDeclaration } from "estree";
import type { Program, Type } from "typescript";

/** The functions that answer with a status. */
const NAMES = /^((rateLimit|checkRateLimit)(All)?|(schedule|enqueue)RateLimited)$/;
/** This package, and the app's own modules: relative, or by the usual aliases. */
const SOURCE = /^(convex-rate-limits($|\/)|\.|\/|~|#|@\/)/;

/** Where a value comes from: an expression or a module, and the fields that are read of it. */
interface Source {
  readonly root: Node;
  readonly module?: string;
  readonly path: readonly string[];
}

export class SourceReader {
  private readonly references: ReadonlyMap<unknown, Scope.Reference>;

  constructor(private readonly code: SourceCode) {
    const references = code.scopeManager.scopes.flatMap((scope) => scope.references);
    this.references = new Map(references.map((reference) => [reference.identifier, reference]));
  }

  /** Where a value is read: where it is, or where the constants are that it becomes. */
  readsOf(value: Node, inner = value): Node[] {
    const { parent } = inner as Node & { parent: Rule.Node };
    if (parent.type === "AwaitExpression" || assertedIn(parent)) return this.readsOf(value, parent);
    if (parent.type !== "VariableDeclarator" || parent.id.type !== "Identifier") return [value];
    const [variable] = this.code.getDeclaredVariables(parent);
    const isConstant = (parent.parent as VariableDeclaration).kind === "const" && variable?.defs.length === 1;
    if (!isConstant) return [value];
    return variable.references.flatMap((read) => (read.isRead() ? this.readsOf(read.identifier as Node) : []));
  }

  /**
   * The name of the function by which a call asks a limit, if a denial may be returned.
   * @param elsewhere - whether limits throw that are defined in another file.
   */
  deniableCall(node: CallExpression, elsewhere: boolean): string | undefined {
    const { root, module = "", path } = this.sourceOf(node.callee);
    const name = [path.at(-1) ?? "", nameIn(node.callee)].find((one) => NAMES.test(one));
    if (name === undefined) return undefined;
    const isDefined = root.type === "CallExpression" && path.length === 1;
    const definitions = isDefined && this.sourceOf(root.callee).path.at(-1) === "defineRateLimits" ? root : undefined;
    const isOurs = definitions !== undefined || SOURCE.test(module);
    // The type of a result knows every definition.
    const isDenial = this.typedDenial(node) ?? (isOurs && !this.throwsDenial(node, definitions, elsewhere));
    return isDenial ? name : undefined;
  }

  /** Whether the result of a call may be a denial: its `ok` is not only `true`. Undefined without typescript-eslint's types. */
  private typedDenial(node: CallExpression): boolean | undefined {
    type Services = { program?: Program | null; getTypeAtLocation?: (node: Node) => Type };
    const { program, getTypeAtLocation } = this.code.parserServices as Services;
    const checker = program?.getTypeChecker();
    const type = getTypeAtLocation && checker?.getAwaitedType(getTypeAtLocation(node));
    if (!checker || !type || ["any", "unknown", "error"].includes(checker.typeToString(type))) return undefined;
    // The result of `limits?.rateLimit(…)` may be undefined.
    const ok = checker.getNonNullableType(type).getProperty("ok");
    return ok !== undefined && checker.typeToString(checker.getTypeOfSymbol(ok)) !== "true";
  }

  /** @param definitions - the call that defines its limits, if that is in this file. */
  private throwsDenial(node: CallExpression, definitions: CallExpression | undefined, elsewhere: boolean): boolean {
    const [, first, options] = node.arguments;
    const [limits, defaults] = definitions?.arguments ?? [];
    const list = first && this.valueOf(first);
    const requests = list?.type === "ArrayExpression" && list.elements.length > 0 ? list.elements : [first];
    // If several limits are asked, one that returns its denial is enough for a fault.
    return requests.every((request) => {
      const [limit] = this.valuesOf("name", request);
      const [definition] = limit?.type === "Literal" ? this.valuesOf(String(limit.value), limits) : [];
      // The call decides before the definition, and that before the options.
      const [nearest] = this.valuesOf("throws", first, options, definition, defaults);
      if (!nearest) return elsewhere && !definitions;
      // `{ jitter }` also throws.
      return nearest.type === "ObjectExpression" || (nearest.type === "Literal" && nearest.value === true);
    });
  }

  /** The values of a field in several objects; those of one object in the order in which they hold, the last first. */
  private valuesOf(field: string, ...objects: (Node | null | undefined)[]): Node[] {
    return objects.flatMap((object) => {
      const value = object && this.valueOf(object);
      if (value?.type !== "ObjectExpression") return [];
      return value.properties.toReversed().flatMap((property) => {
        if (property.type === "SpreadElement") return this.valuesOf(field, property.argument);
        return nameIn(property) === field ? [this.valueOf(property.value)] : [];
      });
    });
  }

  private valueOf(node: Node): Node {
    const { root, path } = this.sourceOf(node);
    return path.length > 0 ? node : root;
  }

  /** Goes behind constants and type assertions. */
  private sourceOf(node: Node): Source {
    const asserted = assertedIn(node);
    if (asserted) return this.sourceOf(asserted);
    if (node.type === "MemberExpression") return this.fieldOf(node.object, node);
    const definition = this.definitionOf(node);
    if (definition?.type === "ImportBinding") {
      // TypeScript's `import a = b` has no source.
      const { source } = definition.parent as Partial<ImportDeclaration>;
      if (source) return { root: node, module: String(source.value), path: [nameIn(definition.node)] };
    }
    if (definition?.type !== "Variable" || !definition.node.init) return { root: node, path: [] };
    const { id, init } = definition.node;
    return id.type === "Identifier" ? this.sourceOf(init) : this.fieldOf(init, (definition.name as Rule.Node).parent);
  }

  private fieldOf(object: Node, named: Node | null): Source {
    const source = this.sourceOf(object);
    return { ...source, path: [...source.path, nameIn(named)] };
  }

  /** The definition of an import or a constant. */
  private definitionOf(node: Node): Scope.Definition | undefined {
    if (node.type !== "Identifier") return undefined;
    const { resolved: variable, from: here } = this.references.get(node) ?? {};
    const [definition, ...more] = variable?.defs ?? [];
    if (!variable || !here || !definition || more.length > 0) return undefined;
    if (definition.type === "Variable" && definition.parent.kind !== "const") return undefined;
    // Code before the end of a definition runs later only in another function. So no search goes round in circles.
    const { range: [, end] = [0, 0] } = definition.node as Node;
    const isEarlier = Number(node.range?.[0]) < end && variable.scope.variableScope === here.variableScope;
    return isEarlier ? undefined : definition;
  }
}

/** The expression in a type assertion or an optional chain. */
function assertedIn(node: Node): Node | undefined {
  const { type, expression } = node as { type: string; expression?: Node };
  return type.startsWith("TS") || type === "ChainExpression" ? expression : undefined;
}

/** The name that a node calls, reads, sets or imports, if it is written out. */
function nameIn(node: Node | null): string {
  if (node?.type === "ImportSpecifier") return nameIn(node.imported);
  if (node?.type === "Literal") return String(node.value);
  if (node?.type === "Identifier") return node.name;
  if (node?.type !== "MemberExpression" && node?.type !== "Property") return "";
  const name = node.type === "Property" ? node.key : node.property;
  return node.computed && name.type !== "Literal" ? "" : nameIn(name);
}
