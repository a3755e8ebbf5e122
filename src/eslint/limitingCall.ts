/** Which calls ask a limit, and whether they throw a denial: by the names that a file imports, destructures and aliases. */
import type { Rule, Scope, SourceCode } from "eslint";
import type { CallExpression, ImportDeclaration, Node } from "estree";

/** The functions that answer with a status. */
export const NAMES = /^((rateLimit|checkRateLimit)(All)?|(schedule|enqueue)RateLimited)$/;
/** This package, and the app's own modules: relative, or by the usual aliases. */
const SOURCE = /^(convex-rate-limits($|\/)|\.|\/|~|#|@\/)/;

/** A value by its name in an object or a module. */
interface Member {
  readonly name: string;
  readonly object?: Node;
  /** From which it comes, through however many objects. */
  readonly module: string | undefined;
}

export class SourceReader {
  constructor(private readonly source: SourceCode) {}

  /**
   * The own name of the function by which a call asks a limit, and whether it throws a denial.
   * @param elsewhere - whether limits throw that are defined in another file.
   */
  limitingCall(node: CallExpression, elsewhere: boolean): { name: string; throws: boolean } | undefined {
    const member = this.memberOf(node.callee);
    if (!member || !NAMES.test(member.name)) return undefined;
    const limits = member.object && this.valueOf(member.object);
    const definitions = limits?.type === "CallExpression" ? limits : undefined;
    const isOurs = definitions
      ? this.memberOf(definitions.callee)?.name === "defineRateLimits"
      : SOURCE.test(member.module ?? "");
    return isOurs ? { name: member.name, throws: this.throwsDenial(node, definitions, elsewhere) } : undefined;
  }

  /** @param definitions - the call that defines its limits, if that is in this file. */
  private throwsDenial(node: CallExpression, definitions: CallExpression | undefined, elsewhere: boolean): boolean {
    const [, first, options] = node.arguments;
    const [limits, defaults] = definitions?.arguments ?? [];
    const throwsFor = (request: Node | null | undefined): boolean => {
      const limit = this.fieldsOf(request).get("name");
      const definition = limit?.type === "Literal" ? this.fieldsOf(limits).get(String(limit.value)) : undefined;
      // The call decides before the definition, and that before the options.
      const nearest = [first, options, definition, defaults]
        .map((object) => this.fieldsOf(object).get("throws"))
        .find(Boolean);
      if (!nearest) return elsewhere && !definitions;
      // `{ jitter }` also throws.
      return nearest.type === "ObjectExpression" || (nearest.type === "Literal" && nearest.value === true);
    };
    const list = first && this.valueOf(first);
    // If several limits are asked, one that returns its denial is enough for a fault.
    if (list?.type !== "ArrayExpression" || list.elements.length === 0) return throwsFor(first);
    return list.elements.every(throwsFor);
  }

  /** The values of an object's fields. The last one that sets a field holds. */
  private fieldsOf(object: Node | null | undefined): ReadonlyMap<string, Node> {
    const value = object && this.valueOf(object);
    if (value?.type !== "ObjectExpression") return new Map();
    return new Map(
      value.properties.flatMap((property) =>
        property.type === "SpreadElement"
          ? [...this.fieldsOf(property.argument)]
          : [[nameIn(property), this.valueOf(property.value)]],
      ),
    );
  }

  /** An expression behind constants and type assertions. */
  private valueOf(node: Node): Node {
    const { type, expression } = node as { type: string; expression?: Node };
    if (expression && (type.startsWith("TS") || type === "ChainExpression")) return this.valueOf(expression);
    const definition = this.definitionOf(node);
    const constant = definition?.type === "Variable" && definition.node.id.type === "Identifier" && definition.node;
    return constant && constant.init ? this.valueOf(constant.init) : node;
  }

  private memberOf(expression: Node): Member | undefined {
    const node = this.valueOf(expression);
    const definition = this.definitionOf(node);
    if (definition?.type === "ImportBinding") {
      // TypeScript's `import a = b` has no source.
      const { source } = definition.parent as Partial<ImportDeclaration>;
      return source && { name: nameIn(definition.node), module: String(source.value) };
    }
    const object =
      node.type === "MemberExpression" ? node.object : definition?.type === "Variable" && definition.node.init;
    if (!object) return undefined;
    const named = node.type === "MemberExpression" ? node : (definition?.name as Rule.Node).parent;
    return { name: nameIn(named), object, module: this.memberOf(object)?.module };
  }

  /** The definition of an import or a constant. */
  private definitionOf(node: Node): Scope.Definition | undefined {
    if (node.type !== "Identifier") return undefined;
    const scope = this.source.getScope(node);
    // ESLint says that the value that a `switch` compares is in its scope, but it is in the one around it.
    const references = [...scope.references, ...(scope.upper?.references ?? [])];
    const { resolved: variable, from: here } = references.find(({ identifier }) => identifier === node) ?? {};
    const [definition, ...more] = variable?.defs ?? [];
    if (!variable || !here || !definition || more.length > 0) return undefined;
    if (definition.type === "Variable" && definition.parent.kind !== "const") return undefined;
    // Code before the end of a definition runs later only in another function. So no search goes round in circles.
    const [, end] = this.source.getRange(definition.node);
    const isEarlier = this.source.getRange(node)[0] < end && variable.scope.variableScope === here.variableScope;
    return isEarlier ? undefined : definition;
  }
}

/** The name that a node calls, reads, sets or imports, if it is written out. */
export function nameIn(node: Node | null): string {
  if (node?.type === "ImportSpecifier") return nameIn(node.imported);
  if (node?.type === "Literal") return String(node.value);
  if (node?.type === "Identifier") return node.name;
  if (node?.type !== "MemberExpression" && node?.type !== "Property") return "";
  const name = node.type === "Property" ? node.key : node.property;
  return node.computed && name.type !== "Literal" ? "" : nameIn(name);
}
