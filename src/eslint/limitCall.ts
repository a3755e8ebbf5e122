/** Calls that ask a limit: by the types of their answers where the linter has types, by imported names otherwise. */
import type { Rule, Scope, SourceCode } from "eslint";
import type { CallExpression, Node } from "estree";
import type { Program, Type } from "typescript";

const NAMES = /^((rateLimit|checkRateLimit)(All)?|(schedule|enqueue)RateLimited|getRateLimit)$/;
/** This package, and modules of the app: relative, or by the usual aliases. */
const SOURCE = /^(convex-rate-limits($|\/)|\.|\/|~|#|@\/)/;

export interface LimitCall {
  readonly node: CallExpression & Rule.NodeParentExtension;
  readonly name: string;
  readonly scope: Scope.Scope;
  /** The type of a field of its answer, as text; "" if it has no such field. Absent without types. */
  readonly typeOf?: ((field: string) => string) | undefined;
}

/** The call as one of a limit's functions: none, if it is another. */
export function limitCallIn(code: SourceCode, node: LimitCall["node"]): LimitCall[] {
  let root: Node = node.callee;
  while (root.type === "MemberExpression") root = root.object;
  const variable = code.getScope(root).references.find(({ identifier }) => identifier === root)?.resolved;
  const { type, parent, node: imported } = variable?.defs[0] ?? {};
  const isRenamed = root === node.callee && imported?.type === "ImportSpecifier";
  const name = nameIn(isRenamed ? imported.imported : node.callee);
  if (!NAMES.test(name)) return [];
  const source = type === "ImportBinding" && parent?.type === "ImportDeclaration" ? String(parent.source.value) : "";
  const typeOf = typesOf(code, node);
  return typeOf || SOURCE.test(source) ? [{ node, name, scope: code.getScope(node).variableScope, typeOf }] : [];
}

/** Undefined without typescript-eslint's types, or if they say nothing of the answer; `limits?.` makes it optional. */
function typesOf({ parserServices }: SourceCode, node: Node): LimitCall["typeOf"] {
  type Services = { program?: Program | null; getTypeAtLocation?: (node: Node) => Type };
  const { program, getTypeAtLocation } = parserServices as Services;
  const checker = program?.getTypeChecker();
  const type = getTypeAtLocation && checker?.getAwaitedType(getTypeAtLocation(node));
  if (!checker || !type || ["any", "unknown", "error"].includes(checker.typeToString(type))) return undefined;
  return (field) => {
    const symbol = checker.getNonNullableType(type).getProperty(field);
    return symbol ? checker.typeToString(checker.getTypeOfSymbol(symbol)) : "";
  };
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
