/** The result type of a call, if the linter has types: typescript-eslint's parser services. */
import type { Rule, SourceCode } from "eslint";

/** The part of a type and of the type checker that is used here: TypeScript is no dependency. */
interface Type {
  getProperty(name: string): object | undefined;
}
interface Services {
  program?: { getTypeChecker(): Checker } | null;
  getTypeAtLocation?(node: Rule.Node): Type;
}
interface Checker {
  getAwaitedType(type: Type): Type | undefined;
  getTypeOfSymbol(symbol: object): Type;
  typeToString(type: Type): string;
}

/** Whether the result of a call may be a denial: its `ok` is not only `true`. Undefined without types. */
export function canBeDenied(node: Rule.Node, { parserServices }: SourceCode): boolean | undefined {
  const services = parserServices as Services;
  const checker = services.program?.getTypeChecker();
  const type = checker && services.getTypeAtLocation?.(node);
  const result = type && checker.getAwaitedType(type);
  if (!result || ["any", "unknown", "error"].includes(checker.typeToString(result))) return undefined;
  const ok = result.getProperty("ok");
  return ok !== undefined && checker.typeToString(checker.getTypeOfSymbol(ok)) !== "true";
}
