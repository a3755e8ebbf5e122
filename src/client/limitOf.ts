/** Definition → parsed limit, at its first call; the component's entry does without. */
import type { Limit } from "../engine/kinds/kind.js";
import { parseChecked, parseLimit } from "../engine/limit.js";
import type { Definition } from "./definitions.js";

/** A definition that is not plain is parsed when it is defined, so what is parsed here has been checked. */
export function limitOf(name: string, definition: Definition): Limit {
  definition.limit ??= parseChecked(name, definition.config);
  return definition.limit;
}

/** @throws when the definition is invalid. */
export function parseNow(name: string, definition: Definition): void {
  definition.limit = parseLimit(name, definition.config);
}
