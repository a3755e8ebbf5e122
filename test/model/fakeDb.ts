/** The least database that src/storage/rows.ts can run on, for many operations a second: one table, one index, transactions. */
import type { Writer } from "../../src/storage/rows.js";

interface Doc {
  _id: string;
  name: string;
  key?: string;
  shard: number;
  value: number;
  ts: number;
}

export class FakeDb {
  #docs = new Map<string, Doc>();
  #inserted = 0;

  /** A ctx for the functions of home A. */
  readonly ctx: Writer = { db: this as unknown as Writer["db"] };

  /** Runs `body`; what it wrote is gone if it throws. */
  async transaction<T>(body: () => Promise<T>): Promise<T> {
    const before = new Map(this.#docs);
    try {
      return await body();
    } catch (error) {
      this.#docs = before;
      throw error;
    }
  }

  query() {
    return {
      withIndex: (_index: string, narrow: (range: Range) => unknown) => {
        const range = new Range();
        narrow(range);
        const found = [...this.#docs.values()].filter((doc) => range.includes(doc)).sort((a, b) => a.shard - b.shard);
        return {
          unique: () => {
            if (found.length > 1) return Promise.reject(new Error("unique() found more than one row"));
            return Promise.resolve(found[0] ?? null);
          },
          collect: () => Promise.resolve(found),
        };
      },
    };
  }

  insert(_table: string, fields: Omit<Doc, "_id">): Promise<string> {
    const _id = String(++this.#inserted);
    this.#docs.set(_id, { ...fields, _id });
    return Promise.resolve(_id);
  }

  patch(_table: string, id: string, fields: Partial<Doc>): Promise<void> {
    this.#docs.set(id, { ...this.#existing(id), ...fields });
    return Promise.resolve();
  }

  delete(_table: string, id: string): Promise<void> {
    this.#existing(id);
    this.#docs.delete(id);
    return Promise.resolve();
  }

  #existing(id: string): Doc {
    const doc = this.#docs.get(id);
    if (!doc) throw new Error(`no document ${id}`);
    return doc;
  }
}

/** What an index range was narrowed to. */
class Range {
  readonly #conditions: ((doc: Doc) => boolean)[] = [];

  eq(field: keyof Doc, value: unknown): this {
    this.#conditions.push((doc) => doc[field] === value);
    return this;
  }

  gte(field: "shard", value: number): this {
    this.#conditions.push((doc) => doc[field] >= value);
    return this;
  }

  lte(field: "shard", value: number): this {
    this.#conditions.push((doc) => doc[field] <= value);
    return this;
  }

  includes(doc: Doc): boolean {
    return this.#conditions.every((holds) => holds(doc));
  }
}
