/** What a caller asks of a queue. It is checked without the limit: apps with limits in the component load no engine. */
import { getConvexSize } from "convex/values";
import { checkField } from "../engine/fields.js";
import { fieldError, misuseError } from "../engine/misuse.js";
import { checkKey } from "../engine/names.js";
import { countField } from "../engine/request.js";
import { END_OF_TIME } from "../engine/time.js";
import { present } from "../wire/present.js";
import type { JoinArgs } from "../wire/queue.js";
import type { Queue } from "./terms.js";

/** A worker reads a hundred jobs at once. Larger arguments belong in a document: pass its id to the job. */
const MAX_ARGS_BYTES = 8192;

type AskedJob = Pick<JoinArgs, "count" | "priority" | "fairBy" | "settles" | "args" | "notAfter">;

/** @throws when count, priority, user or arguments are not permitted. */
export function parseJob({ name, terms }: Pick<Queue, "name" | "terms">, asked: AskedJob) {
  const { count = 1, priority = 0, fairBy, settles, args, notAfter } = asked;
  checkField(name, "count", countField, count);
  if (!(Number.isInteger(priority) && priority >= 0 && priority < terms.priorities)) {
    throw fieldError(name, "priority", `a whole number from 0 to ${terms.priorities - 1} (queue.priorities)`, priority);
  }
  if (terms.fair === (fairBy === undefined)) {
    const permitted = terms.fair ? "whose job it is (queue.fair): a non-empty string" : "left out without queue.fair";
    throw fieldError(name, "fairBy", permitted, fairBy);
  }
  checkKey(name, fairBy, "fairBy");
  // The types forbid anything else, JavaScript does not.
  checkField(name, "settles", { oneOf: ["mutation", "action"] }, settles);
  checkField(name, "notAfter", { atLeast: 0, atMost: END_OF_TIME }, notAfter);
  const bytes = getConvexSize(args);
  if (bytes > MAX_ARGS_BYTES) {
    const problem = `a queued job's arguments may have ${MAX_ARGS_BYTES} bytes, got ${bytes}`;
    throw misuseError(name, `${problem}: store them and pass the id.`);
  }
  return present({ count, priority, fairBy, args, settles, notAfter });
}
