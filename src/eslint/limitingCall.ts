/** Which calls ask a limit: by the names that a file imports, destructures and aliases. */
import type { Scope, SourceCode } from "eslint";
import type { CallExpression, Expression, Identifier, Node, Property } from "estree";

const NAMES: ReadonlySet<string> = new Set([
  "rateLimit",
  "checkRateLimit",
  "rateLimitAll",
  "checkRateLimitAll",
  "scheduleRateLimited",
  "enqueueRateLimited",
]);
const PACKAGE = "convex-rate-limits";
/** The app's own modules: relative, or by the usual aliases. */
const OWN_MODULE = /^(\.|\/|~|#|@\/)/;

/** A call that asks a limit: the function's own name, and where its limits are defined, if that is in this file. */
export interface LimitingCall {
  readonly name: string;
  readonly node: CallExpression;
  readonly definitions: CallExpression | undefined;
}

/** The object that has the functions; `definitions` is the call of `defineRateLimits`, if it is in this file. */
interface LimitsObject {
  readonly definitions: CallExpression | undefined;
}

export interface SourceReader {
  limitingCall(node: CallExpression): LimitingCall | undefined;
  /** What an expression is, behind constants and type assertions. */
  valueOf(expression: Node): Node;
}

export function createReader(source: SourceCode): SourceReader {
  const definitionOf = (identifier: Identifier): Scope.Definition | undefined => {
    let scope: Scope.Scope | null = source.getScope(identifier);
    for (; scope; scope = scope.upper) {
      const variable = scope.set.get(identifier.name);
      if (variable) return variable.defs.length === 1 ? variable.defs[0] : undefined;
    }
    return undefined;
  };

  /** The initial value of a constant, and the pattern that takes it apart. */
  const constantOf = (identifier: Identifier) => {
    const definition = definitionOf(identifier);
    if (definition?.type !== "Variable" || definition.parent.kind !== "const") return undefined;
    const { id, init } = definition.node;
    return init ? { id, init } : undefined;
  };

  const importOf = (identifier: Identifier): { name: string; from: string } | undefined => {
    const definition = definitionOf(identifier);
    if (definition?.type !== "ImportBinding") return undefined;
    const { node, parent } = definition;
    const from = String(parent.source.value);
    if (node.type !== "ImportSpecifier") return { name: "*", from };
    return { name: node.imported.type === "Identifier" ? node.imported.name : String(node.imported.value), from };
  };

  /** What is made of an initial value; nothing where constants are made of each other, which only code that cannot run does. */
  const following = new Set<Node>();
  const follow = <Found>(init: Node, read: (init: Node) => Found | undefined): Found | undefined => {
    if (following.has(init)) return undefined;
    following.add(init);
    try {
      return read(init);
    } finally {
      following.delete(init);
    }
  };

  const functionNamed = (
    name: string | undefined,
    object: LimitsObject | undefined,
  ): Omit<LimitingCall, "node"> | undefined =>
    name !== undefined && NAMES.has(name) && object ? { name, definitions: object.definitions } : undefined;

  const functionOf = (callee: Node): Omit<LimitingCall, "node"> | undefined => {
    const expression = bare(callee);
    if (expression.type === "MemberExpression") {
      return functionNamed(keyOf(expression.property, expression.computed), objectOf(expression.object));
    }
    if (expression.type !== "Identifier") return undefined;
    const imported = importOf(expression);
    if (imported) {
      const isOurs = imported.from === PACKAGE || OWN_MODULE.test(imported.from);
      return isOurs ? functionNamed(imported.name, { definitions: undefined }) : undefined;
    }
    const constant = constantOf(expression);
    if (constant?.id.type === "Identifier") return follow(constant.init, functionOf);
    if (constant?.id.type !== "ObjectPattern") return undefined;
    const property = constant.id.properties.find(
      (one) => one.type === "Property" && one.value.type === "Identifier" && one.value.name === expression.name,
    );
    return functionNamed(property && keyOf((property as Property).key), follow(constant.init, objectOf));
  };

  const isDefineRateLimits = (callee: Node): boolean => {
    if (callee.type === "Identifier") return importOf(callee)?.name === "defineRateLimits";
    if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return false;
    return keyOf(callee.property, callee.computed) === "defineRateLimits" && importOf(callee.object)?.name === "*";
  };

  const objectOf = (node: Node): LimitsObject | undefined => {
    const expression = bare(node);
    if (expression.type === "CallExpression") {
      return isDefineRateLimits(expression.callee) ? { definitions: expression } : undefined;
    }
    // An object of an imported one: `all.limits`.
    if (expression.type === "MemberExpression") return imported(objectOf(expression.object));
    if (expression.type !== "Identifier") return undefined;
    const binding = importOf(expression);
    if (binding) {
      const isOurs = OWN_MODULE.test(binding.from) || (binding.from === PACKAGE && binding.name === "*");
      return isOurs ? { definitions: undefined } : undefined;
    }
    const constant = constantOf(expression);
    const found = constant && follow(constant.init, objectOf);
    return constant?.id.type === "Identifier" ? found : imported(found);
  };

  const valueOf = (expression: Node): Node => {
    const inner = bare(expression);
    const constant = inner.type === "Identifier" ? constantOf(inner) : undefined;
    return constant?.id.type === "Identifier" ? (follow(constant.init, valueOf) ?? inner) : inner;
  };

  return {
    limitingCall: (node) => {
      const found = functionOf(node.callee);
      return found && { ...found, node };
    },
    valueOf,
  };
}

/** The object, unless it is what `defineRateLimits` returned: that has functions, and no other objects. */
function imported(object: LimitsObject | undefined): LimitsObject | undefined {
  return object?.definitions ? undefined : object;
}

/** The name of a property, if it is written out. */
export function keyOf(key: Node, computed = false): string | undefined {
  if (key.type === "Identifier" && !computed) return key.name;
  return key.type === "Literal" && typeof key.value === "string" ? key.value : undefined;
}

/** Behind `as const`, `satisfies`, `!` and the like, which ESTree has no types for. */
function bare(node: Node): Node {
  const { type, expression } = node as { type: string; expression?: Expression };
  return expression && (type.startsWith("TS") || type === "ChainExpression") ? bare(expression) : node;
}
