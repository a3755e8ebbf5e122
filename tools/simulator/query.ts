/** `db.query(…)`, reduced to the part of Convex's query builder that reads by an index. */
import type { Value } from "convex/values";
import { copyOf, type Document } from "./document.js";
import { EVERYTHING, type Key, type Range } from "./key.js";
import type { Syscalls } from "./syscalls.js";
import { BY_CREATION_TIME } from "./table.js";
import type { Scan, Transaction } from "./transaction.js";

/** Builds the range of `withIndex(name, (q) => …)`: equalities on the first fields, then bounds on the next one. */
export class RangeBuilder {
  readonly #equal: (Value | undefined)[] = [];
  #range: Range | undefined;

  constructor(readonly fields: readonly string[]) {}

  get range(): Range {
    return this.#range ?? this.#prefixRange();
  }

  eq(field: string, value: Value | undefined): this {
    if (this.#range) throw new Error(`eq(${field}) must come before the bounds.`);
    this.#check(field);
    this.#equal.push(value);
    return this;
  }
  gt(field: string, value: Value | undefined): this {
    return this.#bound("lower", field, value, false);
  }
  gte(field: string, value: Value | undefined): this {
    return this.#bound("lower", field, value, true);
  }
  lt(field: string, value: Value | undefined): this {
    return this.#bound("upper", field, value, false);
  }
  lte(field: string, value: Value | undefined): this {
    return this.#bound("upper", field, value, true);
  }

  #bound(side: keyof Range, field: string, value: Value | undefined, inclusive: boolean): this {
    this.#check(field);
    this.#range = { ...(this.#range ?? this.#prefixRange()), [side]: { prefix: [...this.#equal, value], inclusive } };
    return this;
  }

  #prefixRange(): Range {
    const prefix: Key = [...this.#equal];
    return { lower: { prefix, inclusive: true }, upper: { prefix, inclusive: true } };
  }

  #check(field: string): void {
    const expected = [...this.fields, "_creationTime"][this.#equal.length];
    if (field !== expected) throw new Error(`The index's next field is ${String(expected)}, not ${field}.`);
  }
}

type Expression = (document: Document) => unknown;

/** The part of `filter((q) => …)` that the peers use. A document that it leaves out has still been read. */
const FILTERS = {
  field:
    (name: string): Expression =>
    (document) =>
      document[name],
  neq:
    (field: Expression, value: Value): Expression =>
    (document) =>
      field(document) !== value,
  and:
    (...all: readonly Expression[]): Expression =>
    (document) =>
      all.every((each) => each(document)),
};

/** The number of documents that an iteration fetches at once. */
const PREFETCHED = 100;

/** A query over one table. Like Convex's, it reads nothing until its results are requested. */
export class SimulatedQuery implements AsyncIterable<Document> {
  #index = BY_CREATION_TIME;
  #range = EVERYTHING;
  #order: "asc" | "desc" = "asc";
  #filter: Expression | undefined;

  constructor(
    readonly transaction: Transaction,
    readonly table: string,
    readonly stale: boolean,
    readonly syscalls: Syscalls,
  ) {}

  withIndex(name: string, build: (q: RangeBuilder) => RangeBuilder = (q) => q): this {
    this.#index = name;
    this.#range = build(new RangeBuilder(this.transaction.store.table(this.table).index(name).fields)).range;
    return this;
  }

  fullTableScan(): this {
    return this;
  }

  order(order: "asc" | "desc"): this {
    this.#order = order;
    return this;
  }

  filter(build: (q: typeof FILTERS) => Expression): this {
    this.#filter = build(FILTERS);
    return this;
  }

  async collect(): Promise<Document[]> {
    return await this.take(Infinity);
  }

  async take(count: number): Promise<Document[]> {
    return await this.syscalls.read(() => {
      const documents: Document[] = [];
      if (count > 0) {
        for (const document of this.#scan()) {
          documents.push(copyOf(document));
          if (documents.length >= count) break;
        }
      }
      return documents;
    });
  }

  async first(): Promise<Document | null> {
    return (await this.take(1))[0] ?? null;
  }

  async unique(): Promise<Document | null> {
    const [document, second] = await this.take(2);
    if (second) throw new Error(`unique() found more than one document in ${this.table}.`);
    return document ?? null;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Document> {
    const scan = this.#scan();
    for (let i = 0; ; i++) {
      const next = i % PREFETCHED === 0 ? await this.syscalls.read(() => scan.next()) : scan.next();
      if (next.done === true) return;
      yield copyOf(next.value);
    }
  }

  *#scan(): Generator<Document, undefined> {
    const scan: Scan = { table: this.table, index: this.#index, range: this.#range, order: this.#order };
    for (const document of this.transaction.scan(scan, { stale: this.stale })) {
      if (this.#filter?.(document) !== false) yield document;
    }
  }
}
