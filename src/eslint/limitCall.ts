/** Calls that ask a limit: by the types of their answers where the linter has types, by imported names otherwise. */
import type { Rule, Scope, SourceCode } from "eslint";
import type { CallExpression, Node, VariableDeclarator } from "estree";
import type { Program, Type } from "typescript";

/** The answers of these must be read. All calls must be awaited. */
export const DECISIONS = /^((rateLimit|checkRateLimit)(All)?|(schedule|enqueue)RateLimited)$/;
const REST = /^((adjust|get|override|pause|release|reset)RateLimit|clearRateLimitOverride|cancel(Queued|RateLimited))$/;
/** This package, and modules of the app: relative, or by the usual aliases. */
const SOURCE = /^(convex-rate-limits($|\/)|\.|\/|~|#|@\/)/;

export interface LimitCall {
  readonly node: CallExpression & Rule.NodeParentExtension;
  readonly name: string;
  readonly scope: Scope.Scope;
  /** The type of its answer, or of a field, as text; "" if it has no such field. Absent without types. */
  readonly typeOf?: ((field?: string) => string) | undefined;
}

/** The call as one of a limit's functions: none, if it is another. */
export function limitCallIn(code: SourceCode, node: LimitCall["node"]): LimitCall[] {
  let root: Node = node.callee;
  while (root.type === "MemberExpression") root = root.object;
  const variable = code.getScope(root).references.find(({ identifier }) => identifier === root)?.resolved;
  const { type, parent, node: imported } = variable?.defs[0] ?? {};
  const isRenamed = root === node.callee && imported?.type === "ImportSpecifier";
  const name = nameIn(isRenamed ? imported.imported : node.callee);
  if (!DECISIONS.test(name) && !REST.test(name)) return [];
  const source = type === "ImportBinding" && parent?.type === "ImportDeclaration" ? String(parent.source.value) : "";
  const typeOf = typesOf(code, node);
  // Ours answer with an `ok`, or at least with null.
  const isOurs = typeOf ? !/^(|void)$/.test(typeOf(DECISIONS.test(name) ? "ok" : undefined)) : SOURCE.test(source);
  return isOurs ? [{ node, name, scope: code.getScope(node).variableScope, typeOf }] : [];
}

/** Undefined without typescript-eslint's types, or if they say nothing of the answer; `limits?.` makes it optional. */
function typesOf({ parserServices }: SourceCode, node: Node): LimitCall["typeOf"] {
  type Services = { program?: Program | null; getTypeAtLocation?: (node: Node) => Type };
  const { program, getTypeAtLocation } = parserServices as Services;
  const checker = program?.getTypeChecker();
  const type = getTypeAtLocation && checker?.getAwaitedType(getTypeAtLocation(node));
  if (!checker || !type || ["any", "unknown", "error"].includes(checker.typeToString(type))) return undefined;
  return (field) => {
    if (field === undefined) return checker.typeToString(type);
    const symbol = checker.getNonNullableType(type).getProperty(field);
    return symbol ? checker.typeToString(checker.getTypeOfSymbol(symbol)) : "";
  };
}

/** What is not read of an answer in a variable or a pattern: its `ok` is "apart", its `retryAt` "early". */
export function useOf(code: SourceCode, declared: VariableDeclarator): string | undefined {
  const { id } = declared;
  const uses = code.getDeclaredVariables(declared).flatMap(({ references }) => references.filter(({ init }) => !init));
  const members = uses.map(({ identifier }) => (identifier as Rule.Node).parent as Node);
  const reads = id.type === "ObjectPattern" ? id.properties.map((one) => ("key" in one ? one.key : one)) : members;
  const isRead = (field: string) => reads.some((read) => ["", field].includes(nameIn(read)));
  return id.type === "ObjectPattern" && !isRead("ok") ? "apart" : isRead("retryAt") ? undefined : "early";
}

/** The value of a field in the arguments of a call, where it is written out. */
export function argumentIn({ arguments: given }: CallExpression, field: string): Node | undefined {
  const fields = given.flatMap((one) => (one.type === "ObjectExpression" ? one.properties : []));
  return fields.flatMap((one) => (one.type === "Property" && nameIn(one.key) === field ? one.value : [])).at(-1);
}

/** The name that an identifier, a literal or a member has. @param variable - the name of an identifier in brackets. */
export function nameIn(node: Node, variable?: string): string {
  if (node.type === "MemberExpression") return node.computed ? nameIn(node.property, "") : nameIn(node.property);
  return node.type === "Literal" ? String(node.value) : node.type === "Identifier" ? (variable ?? node.name) : "";
}
