/** One request on its way through the wrapper, and what goes wrong beside it. */
import { isPermitted } from "../engine/fields.js";
import { fieldError } from "../engine/misuse.js";
import type { Asking } from "./ask.js";
import { type Fields, headerFields } from "./fields.js";
import type { HttpCtx } from "./keys.js";
import type { AnyOptions } from "./options.js";
import type { Rule } from "./parseOptions.js";
import type { AskPlan } from "./plan.js";

/** What all requests of a wrapped handler have in common. */
export interface Wrapper {
  readonly options: AnyOptions;
  readonly rules: readonly Rule[];
  readonly asking: Asking;
  /** The limits that were reported to be charged twice. */
  readonly reportedTwice: Set<string>;
}

/** A request on its way. */
export interface Visit extends Wrapper {
  readonly ctx: HttpCtx;
  readonly request: Request;
}

/** What goes wrong with them costs the client these fields, not the answer. */
export async function corsFields(visit: Visit): Promise<Fields> {
  const { cors = {} } = visit.options;
  try {
    const fields = typeof cors === "function" ? cors(visit.request) : cors;
    if (isPermitted(headerFields, fields)) return fields;
    throw fieldError("limitHttp", "what cors returned", "an object of header fields", fields);
  } catch (error) {
    await report(visit, error);
    return {};
  }
}

/** The buckets that each request has been charged: nested wrappers pass the request on. */
const chargedBy = new WeakMap<Request, Set<string>>();

/** Reports a limit that two nested wrappers charge for one request; each once, or it would fill the log. */
export async function reportTwice(visit: Visit, asks: readonly AskPlan[]): Promise<void> {
  const charged = chargedBy.get(visit.request) ?? new Set();
  chargedBy.set(visit.request, charged);
  for (const { request } of asks) {
    const bucket = JSON.stringify([request.name, request.key]);
    if (charged.has(bucket) && !visit.reportedTwice.has(request.name)) {
      visit.reportedTwice.add(request.name);
      await report(
        visit,
        new Error(`Rate limit "${request.name}" is charged twice for one request: two nested limitHttp have it.`),
      );
    }
    charged.add(bucket);
  }
}

/** Errors that no client should see. The request has an answer already, so an error of `report` itself goes to the log. */
export async function report({ options, request }: Visit, error: unknown): Promise<void> {
  try {
    if (options.report) await options.report(error, request);
    else console.error("The rate limits of a request could not be checked.", error);
  } catch (failure) {
    console.error("The report of a failed rate limit failed.", failure);
  }
}
