/** What a type knows of a result, where the linter has types: typescript-eslint's parser services. */
import type { Rule, SourceCode } from "eslint";

/** As much of a type, and of what knows types, as is asked here: TypeScript is no dependency. */
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

/**
 * Whether the result of a call may be a denial: it has an `ok` that is not only `true`. What has none is a function of the app's own
 * with one of our names. Undefined without types.
 */
export function canBeDenied(node: Rule.Node, { parserServices }: SourceCode): boolean | undefined {
  const services = parserServices as Services;
  const checker = services.program?.getTypeChecker();
  const type = checker && services.getTypeAtLocation?.(node);
  const result = type && checker.getAwaitedType(type);
  if (!result || UNTYPED.includes(checker.typeToString(result))) return undefined;
  const ok = result.getProperty("ok");
  return ok !== undefined && checker.typeToString(checker.getTypeOfSymbol(ok)) !== "true";
}

const UNTYPED = ["any", "unknown", "error"];
