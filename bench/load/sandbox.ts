/** A context like that of a Convex isolate, and one call in it. The database has no rows, and a component answers at once. */
import type vm from "node:vm";
import type { Case } from "./bundles.js";

const classes = { Request, Response, Headers, TextEncoder, TextDecoder, URL };
export const globals = () => ({ ...classes, console, process: { env: {} }, atob, btoa });

interface Loaded {
  fn: { _handler: (ctx: object, args: object) => Promise<unknown> };
}

const range: object = new Proxy({}, { get: () => () => range });
const query = {
  withIndex: (_: string, narrow?: (given: object) => unknown) => (narrow?.(range), query),
  order: () => query,
  collect: () => Promise.resolve([]),
  take: () => Promise.resolve([]),
  first: () => Promise.resolve(null),
  unique: () => Promise.resolve(null),
};
const nothing = () => Promise.resolve(null);
const db = {
  query: () => query,
  insert: () => Promise.resolve("id"),
  patch: nothing,
  replace: nothing,
  delete: nothing,
  get: nothing,
};
/** A status, the answer of a call of several limits, and that of the mutation which asks limits for an HTTP action. */
const status = { ok: true, remaining: 9, resetAt: 1 };
const answer = Object.assign([status], status, { statuses: [status] });
const ctx = () => ({
  db,
  runMutation: () => Promise.resolve(answer),
  runQuery: nothing,
});

const config = { kind: "token bucket", rate: 10, period: 60_000 };
const bucket = { name: "a0", config };
const ARGS: Partial<Record<Case, object>> = {
  "inside: public": bucket,
  // Without a job and a row of a worker there is nothing to do.
  "inside: queue": { name: "a0", terms: { ...bucket, queue: {} }, id: "job" },
  "inside: queue worker": { ...bucket, queue: {}, generation: 1 },
  "official, inside": { ...bucket, reserve: false, throws: false },
  "tables: http": new Request("https://app.example/api"),
  "component: http": new Request("https://app.example/api"),
};

export async function callIn(context: vm.Context, name: Case): Promise<void> {
  await (context as unknown as Loaded).fn._handler(ctx(), ARGS[name] ?? {});
}
