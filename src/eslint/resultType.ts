/** The result type of a call, if the linter has types: typescript-eslint's parser services. */
import type { Rule, SourceCode } from "eslint";
import type { Program, Type } from "typescript";

interface Services {
  program?: Program | null;
  getTypeAtLocation?: (node: Rule.Node) => Type;
}

/** Whether the result of a call may be a denial: its `ok` is not only `true`. Undefined without types. */
export function canBeDenied(node: Rule.Node, { parserServices }: SourceCode): boolean | undefined {
  const { program, getTypeAtLocation } = parserServices as Services;
  const checker = program?.getTypeChecker();
  const type = getTypeAtLocation && checker?.getAwaitedType(getTypeAtLocation(node));
  if (!checker || !type || ["any", "unknown", "error"].includes(checker.typeToString(type))) return undefined;
  const ok = type.getProperty("ok");
  return ok !== undefined && checker.typeToString(checker.getTypeOfSymbol(ok)) !== "true";
}
