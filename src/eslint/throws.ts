/** Whether a denial is thrown, so that a result need not be read: by the call, by the limit, or by all definitions. */
import type { Node, ObjectExpression } from "estree";
import { keyOf, type LimitingCall, type SourceReader } from "./limitingCall.js";

/** @param elsewhere - whether limits throw that are defined in another file. */
export function throwsAlready({ node, definitions }: LimitingCall, reader: SourceReader, elsewhere: boolean): boolean {
  const objectAt = (expression: Node | undefined): ObjectExpression | undefined => {
    const value = expression && reader.valueOf(expression);
    return value?.type === "ObjectExpression" ? value : undefined;
  };
  const fieldOf = (object: ObjectExpression | undefined, name: string): Node | undefined => {
    const field = object?.properties.find((one) => one.type === "Property" && keyOf(one.key, one.computed) === name);
    return field?.type === "Property" ? reader.valueOf(field.value) : undefined;
  };
  const [, args, options] = node.arguments.map(objectAt);
  const limit = fieldOf(args, "name");
  const [limits, defaults] = definitions?.arguments.map(objectAt) ?? [];
  const definition =
    limit?.type === "Literal" && typeof limit.value === "string" ? fieldOf(limits, limit.value) : undefined;

  // What is nearest to the call decides.
  const said = [args, options, objectAt(definition), defaults].map((object) => fieldOf(object, "throws"));
  const first = said.find((throws) => throws !== undefined);
  if (!first) return elsewhere && !definitions;
  // `{ jitter }` throws, too.
  return first.type === "ObjectExpression" || (first.type === "Literal" && first.value === true);
}
