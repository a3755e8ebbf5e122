/** Costs: how many tokens a request takes. A client may have a say, within bounds that are yours. */
import { misuseError } from "../engine/misuse.js";

/** How many tokens a request takes. */
export type HttpCost = (request: Request) => number;

/** `default` for requests that do not say, or say something that is no number; all of them are held to `min` and `max`. */
export interface CostBounds {
  default: number;
  min: number;
  max: number;
}

/** Every request takes as much. */
export function fixed(count: number): HttpCost {
  if (!(Number.isFinite(count) && count >= 0))
    throw misuseError("cost", `must be a finite number of at least 0, got ${count}.`);
  return () => count;
}

/** The cost that a header names. */
export function fromHeader(name: string, bounds: CostBounds): HttpCost {
  const cost = within(bounds);
  return (request) => cost(request.headers.get(name)?.split(",") ?? []);
}

/** The cost that a query parameter names. */
export function fromQuery(name: string, bounds: CostBounds): HttpCost {
  const cost = within(bounds);
  return (request) => cost(new URL(request.url).searchParams.getAll(name));
}

/** When a value is sent more than once the largest counts: the handler may go by any of them. */
function within({ default: byDefault, min, max }: CostBounds): (values: readonly string[]) => number {
  if (!(min >= 0 && min <= byDefault && byDefault <= max && Number.isFinite(max))) {
    throw misuseError("cost", `needs finite 0 <= min <= default <= max, got ${min}, ${byDefault}, ${max}.`);
  }
  return (values) => {
    const named = values.length > 0 ? Math.max(...values.map((value) => readNumber(value) ?? byDefault)) : byDefault;
    return Math.min(max, Math.max(min, named));
  };
}

/** A plain decimal, with no sign and no exponent. */
function readNumber(text: string): number | undefined {
  const trimmed = text.trim();
  return /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : undefined;
}
