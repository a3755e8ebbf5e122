/**
 * The least backend that the package runs on, for many operations a second: one table with one index, transactions, jobs, and
 * calls into the component.
 *
 * The order of reads and writes is the real backend's: what a function has asked for is processed when it can do nothing but
 * wait, all reads in one batch ahead of the writes, and each write as a batch of its own. So calls at once that do not take
 * turns all read the old rows.
 */
import { type FunctionReference, getFunctionName } from "convex/server";

interface Doc {
  readonly _id: string;
  readonly name: string;
  readonly key?: string;
  readonly shard?: number;
}
type Field = "name" | "key" | "shard";
type JobState = "pending" | "success" | "canceled";
interface Operation {
  readonly isWrite: boolean;
  readonly run: () => void;
}
type Handler = (ctx: object, args: object) => Promise<unknown>;

const FIELDS: readonly Field[] = ["name", "key", "shard"];

/** More turns of the microtask queue than a function needs from one answer of the database to its next question. */
const IDLE_TURNS = 12;

/** The registered functions of the component, as its calls reach them: by module and name. */
const modules = import.meta.glob<Record<string, { _handler: Handler }>>("../../convex/*.ts", { eager: true });

/** What `defineRateLimits` takes as `component` here: a reference is the handler itself. */
export const fakeComponent: Record<string, Record<string, Handler>> = Object.fromEntries(
  Object.entries(modules).map(([path, module]) => [
    /(\w+)\.[\w.]+$/.exec(path)?.[1] ?? path,
    Object.fromEntries(Object.entries(module).map(([name, registered]) => [name, registered._handler])),
  ]),
);

/** The component's own functions refer to each other by name. */
function handlerOf(reference: Handler | FunctionReference<"query" | "mutation">): Handler {
  if (typeof reference === "function") return reference;
  const [module = "", name = ""] = getFunctionName(reference).split(":");
  const handler = fakeComponent[module]?.[name];
  if (!handler) throw new Error(`the component has no function ${module}:${name}`);
  return handler;
}

export class FakeDb {
  readonly #docs = new Map<string, Doc>();
  /** The documents of each bucket, in the order of the index. */
  readonly #buckets = new Map<string, Doc[]>();
  readonly #jobs = new Map<string, JobState>();
  #undo: (() => void)[] = [];
  #ids = 0;

  /** Runs a mutation with a ctx of its own; what it wrote is gone if it throws. */
  async transaction<T>(body: (ctx: object) => Promise<T>): Promise<T> {
    this.#undo = [];
    try {
      return await body(this.#openCtx());
    } catch (error) {
      this.#undoTo(0);
      throw error;
    }
  }

  rows(): Doc[] {
    return [...this.#docs.values()];
  }

  jobState(id: string): JobState | undefined {
    return this.#jobs.get(id);
  }

  /** The job has run, if it was not cancelled. */
  finishJob(id: string): void {
    if (this.#jobs.get(id) === "pending") this.#jobs.set(id, "success");
  }

  /** What a function gets: a database of its own, and calls that run one after the other, each a transaction within its own. */
  #openCtx(queue = new Queue()): object {
    let calls: Promise<unknown> = Promise.resolve();
    const call = (reference: Parameters<typeof handlerOf>[0], args: object): Promise<unknown> => {
      const result = calls.then(async () => {
        const savepoint = this.#undo.length;
        try {
          return await handlerOf(reference)(this.#openCtx(queue), args);
        } catch (error) {
          this.#undoTo(savepoint);
          throw error;
        }
      });
      calls = result.catch(() => undefined);
      return result;
    };
    const schedule = (): Promise<string> => queue.add(true, () => this.#setJob(`job${++this.#ids}`, "pending"));
    const cancel = (id: string): Promise<void> =>
      queue.add(true, () => {
        if (this.#jobs.get(id) === "pending") this.#setJob(id, "canceled");
      });
    const scheduler = { runAt: schedule, runAfter: schedule, cancel };
    return { db: this.#openDb(queue), scheduler, runQuery: call, runMutation: call };
  }

  #openDb(queue: Queue): object {
    return {
      query: () => ({ withIndex: (_index: string, narrow: (range: Range) => unknown) => this.#query(queue, narrow) }),
      get: (...path: string[]) => queue.add(false, () => this.#docs.get(path.at(-1) ?? "") ?? null),
      insert: (_table: string, fields: Omit<Doc, "_id">) =>
        queue.add(true, () => this.#set(`row${++this.#ids}`, fields)),
      patch: (_table: string, id: string, fields: Partial<Doc>) =>
        queue.add(true, () => this.#set(id, { ...this.#existing(id), ...fields })),
      replace: (_table: string, id: string, fields: Doc) => queue.add(true, () => this.#set(id, fields)),
      delete: (...path: string[]) =>
        queue.add(true, () => {
          this.#remove(path.at(-1) ?? "");
        }),
      system: {
        get: (...path: string[]) =>
          queue.add(false, () => {
            const kind = this.#jobs.get(path.at(-1) ?? "");
            return kind === undefined ? null : { state: { kind } };
          }),
      },
    };
  }

  #query(queue: Queue, narrow: (range: Range) => unknown, descending = false) {
    const range = new Range();
    narrow(range);
    const read = <T>(pick: (found: Doc[]) => T): Promise<T> =>
      queue.add(false, () => {
        const found = this.#inRange(range);
        return pick(descending ? found.reverse() : found);
      });
    return {
      order: (order: "asc" | "desc") => this.#query(queue, narrow, order === "desc"),
      first: () => read((found) => found[0] ?? null),
      take: (most: number) => read((found) => found.slice(0, most)),
      collect: () => read((found) => found),
      async *[Symbol.asyncIterator]() {
        for (const doc of await read((found) => found)) yield doc;
      },
      unique: () =>
        read((found) => {
          if (found.length > 1) throw new Error("unique() found more than one row");
          return found[0] ?? null;
        }),
    };
  }

  #inRange(range: Range): Doc[] {
    const { bucket } = range;
    const docs = bucket === undefined ? [...this.#docs.values()].sort(byIndex) : (this.#buckets.get(bucket) ?? []);
    return docs.filter((doc) => range.includes(doc));
  }

  #set(id: string, fields: Omit<Doc, "_id">): string {
    const before = this.#docs.get(id);
    const given: [string, unknown][] = Object.entries({ ...fields, _id: id });
    const present = given.filter(([, value]) => value !== undefined);
    const doc = Object.freeze(Object.fromEntries(present)) as unknown as Doc;
    if (before) this.#unfile(before);
    this.#file(doc);
    this.#undo.push(() => {
      this.#unfile(doc);
      if (before) this.#file(before);
    });
    return id;
  }

  #remove(id: string): void {
    const doc = this.#existing(id);
    this.#unfile(doc);
    this.#undo.push(() => {
      this.#file(doc);
    });
  }

  #setJob(id: string, state: JobState): string {
    const before = this.#jobs.get(id);
    this.#jobs.set(id, state);
    this.#undo.push(() => {
      if (before === undefined) this.#jobs.delete(id);
      else this.#jobs.set(id, before);
    });
    return id;
  }

  #file(doc: Doc): void {
    this.#docs.set(doc._id, doc);
    const bucket = bucketOf(doc);
    const docs = this.#buckets.get(bucket);
    if (docs) docs.splice(docs.filter((other) => byIndex(other, doc) <= 0).length, 0, doc);
    else this.#buckets.set(bucket, [doc]);
  }

  #unfile(doc: Doc): void {
    this.#docs.delete(doc._id);
    const docs = this.#buckets.get(bucketOf(doc)) ?? [];
    docs.splice(docs.indexOf(doc), 1);
  }

  #undoTo(savepoint: number): void {
    for (const undo of this.#undo.splice(savepoint).reverse()) undo();
  }

  #existing(id: string): Doc {
    const doc = this.#docs.get(id);
    if (!doc) throw new Error(`no document ${id}`);
    return doc;
  }
}

/** What a function has asked the database for and not got yet. */
class Queue {
  #waiting: Operation[] = [];
  #isDraining = false;

  add<T>(isWrite: boolean, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      this.#waiting.push({ isWrite, run });
      if (!this.#isDraining) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#waiting.length > 0) {
      for (let turn = 0; turn < IDLE_TURNS; turn++) await Promise.resolve();
      const reads = this.#waiting.filter(({ isWrite }) => !isWrite);
      const batch = reads.length > 0 ? reads : this.#waiting.slice(0, 1);
      this.#waiting = this.#waiting.filter((operation) => !batch.includes(operation));
      for (const { run } of batch) run();
    }
    this.#isDraining = false;
  }
}

/** What an index range was narrowed to. */
class Range {
  readonly #conditions: ((doc: Doc) => boolean)[] = [];
  readonly #fixed = new Map<Field, unknown>();

  eq(field: Field, value: unknown): this {
    this.#fixed.set(field, value);
    return this.#where((doc) => doc[field] === value);
  }
  gt(field: Field, value: unknown): this {
    return this.#where((doc) => compare(doc[field], value) > 0);
  }
  gte(field: Field, value: unknown): this {
    return this.#where((doc) => compare(doc[field], value) >= 0);
  }
  lt(field: Field, value: unknown): this {
    return this.#where((doc) => compare(doc[field], value) < 0);
  }
  lte(field: Field, value: unknown): this {
    return this.#where((doc) => compare(doc[field], value) <= 0);
  }

  /** The one bucket that the range lies in, if it does. */
  get bucket(): string | undefined {
    if (!this.#fixed.has("name") || !this.#fixed.has("key")) return undefined;
    return bucketOf({ name: this.#fixed.get("name") as string, key: this.#fixed.get("key") as string });
  }

  includes(doc: Doc): boolean {
    return this.#conditions.every((holds) => holds(doc));
  }

  #where(condition: (doc: Doc) => boolean): this {
    this.#conditions.push(condition);
    return this;
  }
}

function bucketOf({ name, key }: { name: string; key?: string }): string {
  return key === undefined ? JSON.stringify([name]) : JSON.stringify([name, key]);
}

function byIndex(a: Doc, b: Doc): number {
  for (const field of FIELDS) {
    const order = compare(a[field], b[field]);
    if (order !== 0) return order;
  }
  return 0;
}

/** Convex's order, of what an index field here may be: undefined first, then numbers, then strings. */
function compare(a: unknown, b: unknown): number {
  const rank = rankOf(a) - rankOf(b);
  if (rank !== 0 || a === b) return rank;
  return (a as string | number) < (b as string | number) ? -1 : 1;
}

function rankOf(value: unknown): number {
  return value === undefined ? 0 : typeof value === "number" ? 1 : 2;
}
