/** A request to a queue: parsed from the caller or from the wire. */
import { getConvexSize, type Value } from "convex/values";
import { checkKey } from "../engine/names.js";
import { fieldError, misuseError } from "../engine/misuse.js";
import { requestTo } from "../engine/request.js";
import type { Queue } from "./terms.js";

/** A job as it is stored, besides its bucket and the time of its arrival. */
export interface QueuedArgs {
  readonly count: number;
  readonly priority: number;
  readonly fairBy?: string;
  /** A function handle. */
  readonly fn: string;
  readonly args: Record<string, Value>;
  readonly settles?: "mutation" | "action";
}

interface JobArgs {
  count?: number | undefined;
  priority?: number | undefined;
  fairBy?: string | undefined;
  settles?: "mutation" | "action" | undefined;
}

/** A worker reads a hundred jobs at once. Larger arguments belong in a document: pass its id to the job. */
const MAX_ARGS_BYTES = 8192;

/** @throws when a count can never be served, and when priority, user or arguments are not permitted. */
export function parseJob(queue: Queue, asked: JobArgs, fn: string, args: Record<string, Value>): QueuedArgs {
  const { limit, terms } = queue;
  const { name } = limit;
  const { count = 1, priority = 0, fairBy, settles } = asked;
  requestTo(queue, { count, reserve: true });
  if (!(Number.isInteger(priority) && priority >= 0 && priority < terms.priorities)) {
    throw fieldError(name, "priority", `a whole number from 0 to ${terms.priorities - 1} (queue.priorities)`, priority);
  }
  if (terms.fair && fairBy === undefined) {
    throw fieldError(name, "fairBy", "whose job it is (queue.fair is true): a non-empty string", fairBy);
  }
  if (!terms.fair && fairBy !== undefined) {
    throw misuseError(name, "fairBy must be left out unless the limit has queue: { fair: true }.");
  }
  if (fairBy !== undefined) checkKey(name, fairBy, "fairBy");
  // The types forbid anything else, JavaScript does not.
  if (settles !== undefined && !["mutation", "action"].includes(settles)) {
    throw fieldError(name, "settles", '"mutation" or "action"', settles);
  }
  const bytes = getConvexSize(args);
  if (bytes > MAX_ARGS_BYTES) {
    throw misuseError(
      name,
      `a queued job's arguments may have ${MAX_ARGS_BYTES} bytes, got ${bytes}: store them and pass the id.`,
    );
  }
  return {
    count,
    priority,
    ...(fairBy !== undefined && { fairBy }),
    fn,
    args,
    ...(settles !== undefined && { settles }),
  };
}
