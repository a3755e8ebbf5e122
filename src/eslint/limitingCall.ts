/** Which calls ask a limit, and whether they throw a denial: by the names that a file imports, destructures and aliases. */
import type { Scope, SourceCode } from "eslint";
import type { CallExpression, Expression, Identifier, Node } from "estree";

export const NAMES: ReadonlySet<string | undefined> = new Set([
  "rateLimit",
  "checkRateLimit",
  "rateLimitAll",
  "checkRateLimitAll",
  "scheduleRateLimited",
  "enqueueRateLimited",
]);
/** This package, and the app's own modules: relative, or by the usual aliases. */
const SOURCE = /^(convex-rate-limits($|\/)|\.|\/|~|#|@\/)/;

/** A call that asks a limit: the function's own name, and the call that defines its limits, if that is in this file. */
interface LimitingCall {
  readonly name: string;
  readonly node: CallExpression;
  readonly definitions: CallExpression | undefined;
}

/** The origin of a value: a module or the result of a call, and the names of properties from there. */
interface Origin {
  readonly root: string | CallExpression;
  readonly path: readonly (string | undefined)[];
}

export class SourceReader {
  constructor(private readonly source: SourceCode) {}

  limitingCall(node: CallExpression): LimitingCall | undefined {
    const { root, path } = this.originOf(node.callee) ?? {};
    const name = path?.at(-1);
    if (root === undefined || name === undefined || !NAMES.has(name)) return undefined;
    if (typeof root === "string") return SOURCE.test(root) ? { name, node, definitions: undefined } : undefined;
    const isOurs = path?.length === 1 && this.originOf(root.callee)?.path.at(-1) === "defineRateLimits";
    return isOurs ? { name, node, definitions: root } : undefined;
  }

  /** @param elsewhere - whether limits throw that are defined in another file. */
  throwsDenial({ node, definitions }: LimitingCall, elsewhere: boolean): boolean {
    const [, first, options] = node.arguments;
    const [limits, defaults] = definitions?.arguments ?? [];
    const throwsFor = (request: Node | null | undefined): boolean => {
      const limit = this.fieldOf(request, "name");
      const definition = limit?.type === "Literal" ? this.fieldOf(limits, String(limit.value)) : undefined;
      // The call decides before the definition, and that before the options.
      const nearest = [first, options, definition, defaults]
        .map((object) => this.fieldOf(object, "throws"))
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

  /** An expression behind constants and type assertions. */
  private valueOf(node: Node, depth = 0): Node {
    const { type, expression } = node as { type: string; expression?: Expression };
    if (expression && (type.startsWith("TS") || type === "ChainExpression")) return this.valueOf(expression, depth);
    const constant = node.type === "Identifier" ? this.constantOf(node) : undefined;
    return constant?.id.type === "Identifier" && depth < MOST_CONSTANTS ? this.valueOf(constant.init, depth + 1) : node;
  }

  /** The value of an object's field: the last one that sets it. */
  private fieldOf(object: Node | null | undefined, name: string): Node | undefined {
    const value = object && this.valueOf(object);
    if (value?.type !== "ObjectExpression") return undefined;
    for (const property of [...value.properties].reverse()) {
      if (property.type === "SpreadElement") {
        const spread = this.fieldOf(property.argument, name);
        if (spread) return spread;
      } else if (keyOf(property.key, property.computed) === name) return this.valueOf(property.value);
    }
    return undefined;
  }

  private originOf(expression: Node, depth = 0): Origin | undefined {
    const node = this.valueOf(expression);
    if (node.type === "CallExpression") return { root: node, path: [] };
    if (node.type === "MemberExpression") {
      const origin = this.originOf(node.object, depth);
      return origin && { ...origin, path: [...origin.path, keyOf(node.property, node.computed)] };
    }
    if (node.type !== "Identifier" || depth >= MOST_CONSTANTS) return undefined;
    const definition = this.definitionOf(node);
    if (definition?.type === "ImportBinding") {
      const root = String(definition.parent.source.value);
      const { node: binding } = definition;
      return { root, path: binding.type === "ImportSpecifier" ? [keyOf(binding.imported)] : [] };
    }
    const constant = this.constantOf(node);
    if (constant?.id.type !== "ObjectPattern") return undefined;
    const origin = this.originOf(constant.init, depth + 1);
    const property = constant.id.properties.find(
      (one) => one.type === "Property" && one.value.type === "Identifier" && one.value.name === node.name,
    );
    return property?.type === "Property" && origin
      ? { ...origin, path: [...origin.path, keyOf(property.key)] }
      : undefined;
  }

  /** The initial value of a constant, and the pattern that takes it apart. */
  private constantOf(identifier: Identifier) {
    const definition = this.definitionOf(identifier);
    if (definition?.type !== "Variable" || definition.parent.kind !== "const") return undefined;
    const { id, init } = definition.node;
    return init ? { id, init } : undefined;
  }

  private definitionOf(identifier: Identifier): Scope.Definition | undefined {
    for (let scope: Scope.Scope | null = this.source.getScope(identifier); scope; scope = scope.upper) {
      const variable = scope.set.get(identifier.name);
      if (variable) return variable.defs.length === 1 ? variable.defs[0] : undefined;
    }
    return undefined;
  }
}

/** No limit is behind more constants, unless they are defined by each other, in code that cannot run. */
const MOST_CONSTANTS = 10;

/** The name of a property, if it is written out. */
export function keyOf(key: Node, computed = false): string | undefined {
  if (key.type === "Identifier" && !computed) return key.name;
  return key.type === "Literal" && typeof key.value === "string" ? key.value : undefined;
}
