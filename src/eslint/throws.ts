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
  const [, first, second] = node.arguments;
  const [args, options] = [objectAt(first), objectAt(second)];
  const [limits, defaults] = definitions?.arguments.map(objectAt) ?? [];
  /** What the definition says of the limit that a request names. */
  const definedFor = (request: ObjectExpression | undefined): Node | undefined => {
    const name = fieldOf(request, "name");
    const isName = name?.type === "Literal" && typeof name.value === "string";
    return isName ? fieldOf(objectAt(fieldOf(limits, name.value as string)), "throws") : undefined;
  };
  // What is nearest to the call decides.
  const throwsFor = (request: ObjectExpression | undefined): boolean => {
    const nearest =
      fieldOf(args, "throws") ?? fieldOf(options, "throws") ?? definedFor(request) ?? fieldOf(defaults, "throws");
    if (!nearest) return elsewhere && !definitions;
    // `{ jitter }` throws, too.
    return nearest.type === "ObjectExpression" || (nearest.type === "Literal" && nearest.value === true);
  };
  const list = first && reader.valueOf(first);
  // Of several limits, one that returns its denial is enough.
  if (list?.type !== "ArrayExpression" || list.elements.length === 0) return throwsFor(args);
  return list.elements.every((request) => throwsFor(objectAt(request ?? undefined)));
}
