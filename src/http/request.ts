/** Reading a request: its caller, and how many tokens it takes. A client may choose a cost within your bounds. */
import type { GenericActionCtx } from "convex/server";
import type { AnyDataModel } from "../client/place.js";
import { checkField, checkFields, type Fields, required } from "../engine/fields.js";
import { fieldError, misuseError } from "../engine/misuse.js";
import { countField } from "../engine/request.js";
import { headerNameField } from "./fields.js";

/** The ctx of an HTTP action of any data model: your functions may name the `ActionCtx` of your own. */
export interface HttpCtx extends GenericActionCtx<AnyDataModel> {}

/** Finds a caller's key in a request. */
export interface KeySource {
  /** The bucket's key; undefined if the request has none, an empty one, or an invalid one. */
  readonly keyOf: (ctx: HttpCtx, request: Request) => Promise<string | undefined>;
}

/** How many tokens a request takes, of at most `capacity`. It may read the body of `request.clone()`. */
export type HttpCost = (request: Request, capacity: number) => number | Promise<number>;

/**
 * `default` is for requests that name no number. Costs are kept between `min` (1, or a lesser `default`) and `max`.
 * Without `max`, a cost above the capacity is denied.
 */
interface CostBounds {
  default: number;
  min?: number;
  max?: number;
}

/** The cost that a header names. @throws unless `0 <= min <= default <= max`. */
export function fromHeader(name: string, bounds: CostBounds): HttpCost {
  checkField({ of: "cost" }, "header", required(headerNameField), name);
  return within(bounds, ({ headers }) => headers.get(name)?.split(",") ?? []);
}

/** The cost that a query parameter names. @throws unless `0 <= min <= default <= max`. */
export function fromQuery(name: string, bounds: CostBounds): HttpCost {
  if (!isText(name) || name === "") throw fieldError({ of: "cost" }, "the query parameter", "a name", name);
  return within(bounds, ({ url }) => new URL(url).searchParams.getAll(name));
}

/**
 * If a value is sent more than once, the largest counts: the handler may use any of them. A value that a handler may
 * read as another number, such as "1e9" or "50 days", is NaN, which is refused with 400.
 */
function within(bounds: CostBounds, valuesIn: (request: Request) => readonly string[]): HttpCost {
  checkFields({ of: "cost" }, "the bounds", bounds, BOUNDS);
  const { default: byDefault, min = Math.min(1, byDefault), max } = bounds;
  if (min > byDefault || byDefault > (max ?? Infinity)) {
    const got = [min, byDefault, ...(max === undefined ? [] : [max])].join(", ");
    throw misuseError({ of: "cost" }, `needs 0 <= min <= default <= max, got ${got}.`);
  }
  return (request) => {
    const values = valuesIn(request).map((value) => value.trim());
    // A plain decimal, with no sign and no exponent.
    const named = values.flatMap((value) => (value === "" ? [] : /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN));
    const asked = named.length > 0 ? Math.max(...named) : byDefault;
    return Math.min(max ?? Infinity, Math.max(min, asked));
  };
}

/** JavaScript may pass anything, and a regular expression takes undefined for the text "undefined". */
export const isText = (value: unknown): value is string => typeof value === "string";

const BOUNDS: Fields = { default: required(countField), min: countField, max: countField };
