/** Rows: the only file that touches ctx.db. */
import type * as convex from "convex/server";
import { misuseError, show } from "../engine/misuse.js";
import type { Control } from "../engine/control.js";
import { CONTROL_SHARD, WHOLE } from "../engine/sharding/interval.js";
import type { StoredPlan } from "../engine/bucket.js";
import type { RateLimitsDataModel } from "./schema.js";

type Table = convex.NamedTableInfo<RateLimitsDataModel, "rateLimits">;
type Index = convex.NamedIndex<Table, "by_name_key_shard">;
type Range = (q: convex.IndexRangeBuilder<Row, Index>) => convex.IndexRange;
export type Row = convex.DocumentByName<RateLimitsDataModel, "rateLimits">;

/** The name and key that all rows of a bucket share. */
export interface BucketId {
  readonly name: string;
  readonly key?: string | undefined;
}

/** As it is stored and sent: an absent key stays absent, since undefined is no value there. */
export function idOf({ name, key }: BucketId): BucketId {
  return key === undefined ? { name } : { name, key };
}

/**
 * The required part of `ctx.db`: the one table, through its own index. The database of any app whose schema has the
 * table fits. `normalizeId` is never called. It comes first, so for a schema without the table the compiler prints the
 * name of its argument.
 */
export interface Reader {
  db: {
    normalizeId?: (spreadRateLimitTablesIntoTheSchema: "rateLimits", id: string) => unknown;
    query(table: "rateLimits"): { withIndex(index: "by_name_key_shard", range: Range): convex.Query<Table> };
  };
}

/** The fields of a row besides its name, key and plan. */
type Content = Omit<convex.WithoutSystemFields<Row>, "name" | "key" | "plan">;

export interface Writer {
  db: WriterDb;
}
type ReaderDb = Reader["db"];
/** An interface, since the compiler says less of it than of an intersection if the schema lacks the table. */
interface WriterDb extends ReaderDb, TableWriter<"rateLimits", Row> {}
export interface TableWriter<Table extends string, Doc extends convex.GenericDocument> {
  insert(table: Table, row: convex.WithoutSystemFields<Doc>): Promise<Doc["_id"]>;
  patch(table: Table, id: Doc["_id"], fields: Partial<convex.WithoutSystemFields<Doc>>): Promise<void>;
  delete(table: Table, id: Doc["_id"]): Promise<void>;
}

/**
 * A run may issue calls at once (`Promise.all`). The database then reads for all of them before it writes for any, so
 * each would take the same tokens. Apps wrap or hide `ctx.db`, some anew for each call, so a run is also known by its
 * `ctx` and `runQuery`. If none of them is known, the call belongs to the latest run: Convex loads the module anew for
 * each run. convex-test does not: there another `runQuery` is of a nested run, which must not wait for its caller.
 */
const runs = new WeakMap<object, Run>();
/** `lastTurn` settles when the last call has ended. `isMarked`: the `runQuery` is known; another is of another run. */
type Run = { lastTurn?: Promise<unknown>; isMarked?: boolean };
let latest: Run = {};
const NEED = "Rate limits in your tables need the ctx of a";

/**
 * Runs `operation` when those before it in the same run have ended, however they ended.
 * @throws when the ctx has no database, as in an action, or when the operation writes and the ctx is that of a query.
 */
export async function inTurn<T>(ctx: unknown, operation: () => Promise<T>, writes = false): Promise<T> {
  const { db, runQuery } = (typeof ctx === "object" && ctx !== null ? ctx : {}) as Record<string, unknown>;
  if (typeof db !== "object" || db === null) {
    const instead = "In an action call the component, or a mutation of yours.";
    throw new Error(`${NEED} query or mutation, got ${show(ctx)} without db. ${instead}`);
  }
  // Also for a denial, which writes nothing: the same call would fail another time.
  if (writes && !("insert" in db)) {
    throw new Error(`${NEED} mutation here, got one whose db only reads. A query can ask checkRateLimit.`);
  }
  const mark = typeof runQuery === "function" ? runQuery : undefined;
  const isOther = mark !== undefined && latest.isMarked;
  const run = runs.get(db) ?? runs.get(ctx as object) ?? (mark && runs.get(mark)) ?? (isOther ? {} : latest);
  latest = run;
  runs.set(db, run).set(ctx as object, run);
  if (mark) runs.set(mark, Object.assign(run, { isMarked: true }));
  const turn = run.lastTurn ? run.lastTurn.then(operation) : operation();
  // The caller of a turn that failed has its error; the next turn does not wait for reasons.
  run.lastTurn = turn.catch(() => undefined);
  return await turn;
}

/** An app may hide its database, as convex-ents advises: then the ctx itself stands for it. */
export const withDb = (ctx: object & { db?: unknown; runQuery?: unknown }) =>
  ctx.db ? ctx : { db: ctx, runQuery: ctx.runQuery };

/** An operation that takes its turn. Arguments are parsed before: misuse does not wait, and reads nothing. */
export function takingTurns<Asked, Parsed, Result>(
  parse: (asked: Asked) => Parsed,
  operation: (ctx: Writer, parsed: Parsed) => Promise<Result>,
  writes = true,
): (ctx: Reader, asked: Asked) => Promise<Result> {
  return (ctx, asked) => {
    const parsed = parse(asked);
    return inTurn(ctx, () => operation(ctx as Writer, parsed), writes);
  };
}

/** All rows of a bucket with its control row, or those within an interval: in one range, on which the call depends. */
export async function readRows({ db }: Reader, { name, key }: BucketId, within = WHOLE): Promise<Row[]> {
  return await db
    .query("rateLimits")
    .withIndex("by_name_key_shard", (q) => {
      const bucket = q.eq("name", name).eq("key", key);
      return within === WHOLE ? bucket : bucket.gte("shard", within).lt("shard", `${within}2`);
    })
    .collect();
}

/** Rows in another range, in order. */
function rowsIn({ db }: Reader, range: Range): convex.Query<Table> {
  return db.query("rateLimits").withIndex("by_name_key_shard", range);
}

/** The last row, or that with a `shard` of at most this, or none. The transaction depends on what follows it. */
export async function readLast(ctx: Reader, { name, key }: BucketId, most?: string): Promise<Row | null> {
  const rows = rowsIn(ctx, (q) => {
    const bucket = q.eq("name", name).eq("key", key);
    return most === undefined ? bucket : bucket.lte("shard", most);
  });
  return await rows.order("desc").first();
}

/** The rows of the parts around a point, from the whole on. The transaction depends on them only. */
export async function readAround(ctx: Reader, { name, key }: BucketId, point: string): Promise<Row[]> {
  const rowsOf = (shard?: string) => rowsIn(ctx, (q) => q.eq("name", name).eq("key", key).eq("shard", shard)).collect();
  return (await Promise.all([rowsOf(), ...Array.from(point, (_, i) => rowsOf(point.slice(0, i + 1)))])).flat();
}

/** The first row of the limit whose name comes after this one; of the first limit, without one. */
export async function readNextName(ctx: Reader, after = ""): Promise<Row | null> {
  return await rowsIn(ctx, (q) => q.gt("name", after)).first();
}

/** A place in a limit: before its first bucket, or after that of a key (null: without a key). Callers get JSON. */
export type Cursor = readonly [name: string, after?: string | null];

/** The rows of a limit that come after a place, in the order of their keys, one by one. */
export function rowsAfter(ctx: Reader, [name, after]: Cursor): AsyncIterable<Row> {
  return rowsIn(ctx, (q) =>
    after === undefined ? q.eq("name", name) : q.eq("name", name).gt("key", after ?? undefined),
  );
}

/** A write: contents in the place of a bucket's rows. */
export interface RowChange {
  readonly bucket: BucketId & { readonly plan?: StoredPlan | undefined };
  readonly rows: readonly Row[];
  readonly contents: readonly Content[];
}

/**
 * Puts contents in the place of rows. A row stays for the same part of its bucket only: jobs may name it.
 * @throws when a row is gone: a run does not see what a nested `runMutation` writes at the same time.
 */
export async function write({ db }: Writer, { bucket, rows, contents }: RowChange): Promise<void> {
  const left = new Set(rows);
  const byShard = new Map(rows.map((row) => [row.shard, row]));
  try {
    for (const content of contents) {
      const row = byShard.get(content.shard);
      if (row) {
        left.delete(row);
        // A patch takes a field away by undefined.
        const none = { seen: undefined, window: undefined, recent: undefined, headroom: undefined };
        await db.patch("rateLimits", row._id, { ...none, ...content, plan: bucket.plan });
      } else await db.insert("rateLimits", { ...idOf(bucket), ...content, plan: bucket.plan });
    }
    for (const { _id } of left) await db.delete("rateLimits", _id);
  } catch (error) {
    // The backend's words, and those of convex-test.
    if (!/non-?existent doc/i.test(String(error))) throw error;
    const problem =
      "a nested ctx.runMutation has replaced rows that this call has read: await one before the other starts.";
    throw misuseError(bucket.name, problem);
  }
}

/** The control row of a bucket: one, or none. The transaction depends on it only. */
export async function readControl(ctx: Reader, { name, key }: BucketId): Promise<Row[]> {
  return await rowsIn(ctx, (q) => q.eq("name", name).eq("key", key).eq("shard", CONTROL_SHARD)).collect();
}

export const isControl = ({ shard }: Row): boolean => shard === CONTROL_SHARD;

/** Puts a control row in the place of the one that is there; of none that says something there is no row. */
export async function writeControl(ctx: Writer, id: BucketId, rows: readonly Row[], next: Control): Promise<void> {
  const { override, ...control } = next;
  const contents = [{ shard: CONTROL_SHARD, value: 0, ts: 0, control, override }];
  await write(ctx, { bucket: idOf(id), rows, contents: next.count > 0 || override ? contents : [] });
}
