/** Definition → parsed limit, at its first call; the component's entry does without. */
import type { Limit } from "../engine/kinds/kind.js";
import { parseLimit } from "../engine/limit.js";
import type { Definition } from "./definitions.js";

/** @throws when the definition cannot be counted. */
export function limitOf(name: string, definition: Definition): Limit {
  definition.limit ??= parseLimit(name, definition.config);
  return definition.limit;
}
