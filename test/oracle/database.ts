/**
 * A serial database in memory, small enough to judge thousands of calls a second. A transaction that throws changes nothing. It is
 * not the light backend of other tests (test/support/fakeDb.ts), so a fault of that one cannot hide here.
 */
import { rateLimitTables } from "convex-rate-limits/schema";

type Doc = Readonly<Record<string, unknown>> & { readonly _id: string; readonly _creationTime: number };
type Fields = Readonly<Record<string, unknown>>;

/** The fields of each index, as the schema declares them. */
const indexes = new Map(
  Object.entries(rateLimitTables).flatMap(([table, definition]) =>
    definition[" indexes"]().map(({ indexDescriptor, fields }) => [`${table}.${indexDescriptor}`, fields] as const),
  ),
);

/** Convex orders absent values before all others, and numbers before texts. */
function rank(value: unknown): number {
  if (value === undefined) return 0;
  if (value === null) return 1;
  if (typeof value === "number") return 2;
  return typeof value === "boolean" ? 3 : 4;
}
function compare(a: unknown, b: unknown): number {
  if (a === b) return 0;
  const byKind = rank(a) - rank(b);
  return byKind === 0 ? ((a as string) < (b as string) ? -1 : 1) : byKind;
}

const COMPARISONS: Readonly<Record<string, (order: number) => boolean>> = {
  eq: (order) => order === 0,
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
};

/** What a query reads: a table, in the order of an index, and the conditions of a range. */
class Query {
  readonly #conditions: ((doc: Doc) => boolean)[] = [];
  #fields: readonly string[] = [];
  #isDescending = false;

  constructor(
    private readonly docs: ReadonlyMap<string, Doc>,
    private readonly table: string,
  ) {}

  withIndex(index: string, range?: (builder: unknown) => unknown): this {
    const fields = indexes.get(`${this.table}.${index}`);
    if (!fields) throw new Error(`no index ${this.table}.${index}`);
    this.#fields = fields;
    const builder = Object.fromEntries(
      Object.entries(COMPARISONS).map(([name, holds]) => [
        name,
        (field: string, value: unknown) => {
          this.#conditions.push((doc) => holds(compare(doc[field], value)));
          return builder;
        },
      ]),
    ) as Record<string, unknown>;
    range?.(builder);
    return this;
  }

  order(order: "asc" | "desc"): this {
    this.#isDescending = order === "desc";
    return this;
  }

  #found(): Doc[] {
    const found: Doc[] = [];
    for (const doc of this.docs.values()) if (this.#conditions.every((holds) => holds(doc))) found.push(doc);
    if (found.length < 2) return found;
    found.sort((a, b) => {
      for (const field of this.#fields) {
        const order = compare(a[field], b[field]);
        if (order !== 0) return order;
      }
      return a._creationTime - b._creationTime;
    });
    return this.#isDescending ? found.reverse() : found;
  }

  collect(): Promise<Doc[]> {
    return Promise.resolve(this.#found());
  }
  take(most: number): Promise<Doc[]> {
    return Promise.resolve(this.#found().slice(0, most));
  }
  first(): Promise<Doc | null> {
    return Promise.resolve(this.#found()[0] ?? null);
  }
  unique(): Promise<Doc | null> {
    const found = this.#found();
    if (found.length > 1) throw new Error("unique() found more than one document");
    return Promise.resolve(found[0] ?? null);
  }
  async *[Symbol.asyncIterator](): AsyncGenerator<Doc> {
    for (const doc of this.#found()) yield await Promise.resolve(doc);
  }
}

/** A document without undefined fields, and its own: what the caller changes later does not reach it. */
function stored(fields: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

interface Content {
  readonly docs: ReadonlyMap<string, ReadonlyMap<string, Doc>>;
  readonly jobs: ReadonlyMap<string, string>;
  readonly count: number;
}

export class Database {
  #docs = new Map<string, Map<string, Doc>>();
  #jobs = new Map<string, string>();
  #count = 0;
  writes = 0;

  /** Runs a mutation. If it throws, its writes are discarded. */
  async run<Result>(body: (ctx: object) => Promise<Result>): Promise<Result> {
    const before = this.save();
    try {
      return await body(this.#ctx());
    } catch (error) {
      this.restore(before);
      throw error;
    }
  }

  /** The content, which a later `restore` brings back. */
  save(): Content {
    const docs = new Map([...this.#docs].map(([table, rows]) => [table, new Map(rows)]));
    return { docs, jobs: new Map(this.#jobs), count: this.#count };
  }
  restore({ docs, jobs, count }: Content): void {
    this.#docs = new Map([...docs].map(([table, rows]) => [table, new Map(rows)]));
    this.#jobs = new Map(jobs);
    this.#count = count;
  }

  rows(table = "rateLimits"): readonly Doc[] {
    return [...this.#table(table).values()];
  }

  /** The scheduled function begins, unless it was cancelled. */
  begin(id = ""): void {
    if (this.#jobs.get(id) === "pending") this.#jobs.set(id, "success");
  }

  #table(name: string): Map<string, Doc> {
    const table = this.#docs.get(name) ?? new Map<string, Doc>();
    this.#docs.set(name, table);
    return table;
  }

  #ctx(): object {
    return {
      db: {
        query: (table: string) => new Query(this.#table(table), table),
        get: (...names: string[]) => Promise.resolve(this.#find(String(names.at(-1)))?.doc ?? null),
        insert: (table: string, fields: Fields) => this.#insert(table, fields),
        patch: (...given: unknown[]) => this.#change(String(given.at(-2)), given.at(-1) as Fields, true),
        replace: (...given: unknown[]) => this.#change(String(given.at(-2)), given.at(-1) as Fields, false),
        delete: (...names: string[]) => this.#delete(String(names.at(-1))),
        system: {
          get: (...names: string[]) => {
            const kind = this.#jobs.get(String(names.at(-1)));
            return Promise.resolve(kind ? { state: { kind }, args: [] } : null);
          },
        },
      },
      scheduler: {
        runAt: () => Promise.resolve(this.#schedule()),
        runAfter: () => Promise.resolve(this.#schedule()),
        cancel: (id: string) => {
          if (this.#jobs.get(id) === "pending") this.#jobs.set(id, "canceled");
          return Promise.resolve();
        },
      },
    };
  }

  #schedule(): string {
    const id = `job${String(++this.#count)}`;
    this.#jobs.set(id, "pending");
    return id;
  }
  #find(id: string) {
    for (const rows of this.#docs.values()) {
      const doc = rows.get(id);
      if (doc) return { rows, doc };
    }
    return undefined;
  }
  #insert(table: string, fields: Fields): Promise<string> {
    this.writes++;
    const _creationTime = ++this.#count;
    const _id = `doc${String(_creationTime)}`;
    this.#table(table).set(_id, { ...stored(fields), _id, _creationTime });
    return Promise.resolve(_id);
  }
  #change(id: string, fields: Fields, isPatch: boolean): Promise<void> {
    const found = this.#find(id);
    if (!found) throw new Error(`a write to ${id}, which does not exist`);
    this.writes++;
    const { rows, doc } = found;
    const { _id, _creationTime } = doc;
    rows.set(id, { ...stored({ ...(isPatch && doc), ...fields }), _id, _creationTime });
    return Promise.resolve();
  }
  #delete(id: string): Promise<void> {
    const found = this.#find(id);
    if (!found) throw new Error(`a delete of ${id}, which does not exist`);
    this.writes++;
    found.rows.delete(id);
    return Promise.resolve();
  }
}
