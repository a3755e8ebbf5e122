/**
 * One attempt of a mutation. It reads the snapshot of its start, overlaid with its own writes, and records what it read. If a
 * sub-transaction throws, its writes are discarded and its reads stay.
 */
import { compareValues, type Value } from "convex/values";
import { type Cost, noCost } from "./cost.js";
import { copyOf, type Document, tableOf } from "./document.js";
import { comparePrefix, isWithin, type Range } from "./key.js";
import type { Store, Writes } from "./store.js";
import type { TableIndex } from "./tableIndex.js";

export interface Scan {
  readonly table: string;
  readonly index: string;
  readonly range: Range;
  readonly order: "asc" | "desc";
}

export class Transaction {
  readonly cost: Cost = noCost();
  readonly snapshot: number;
  readonly #ranges: { table: string; index: string; range: Range }[] = [];
  readonly #ids = new Map<string, string>();
  /** The ids of all documents that were read, by id or in a range. */
  readonly #seen = new Set<string>();
  #writes = new Map<string, { table: string; document: Document | null }>();
  #inserted = 0;

  constructor(
    readonly store: Store,
    /** The clock of this attempt. It is set when the code begins, which may be long after the snapshot, and then stands still. */
    public now: number,
  ) {
    this.snapshot = store.openSnapshot();
  }

  get writes(): Writes {
    return this.#writes;
  }

  /** Whether the attempt conflicts if it is validated now. */
  hasConflict(): boolean {
    return this.store.hasConflict(this.snapshot, { ranges: this.#ranges, ids: this.#ids });
  }

  /** Ends the attempt. Its writes become those of commit `ts`, which the caller has to publish. */
  stage(): { ts: number; bytes: number } {
    const staged = this.store.stage(this.#writes);
    this.close();
    return staged;
  }

  /** Stages and publishes at once. */
  commit(): void {
    this.store.publish(this.stage().ts);
  }

  close(): void {
    this.store.closeSnapshot(this.snapshot);
  }

  /** Runs `body` as a sub-transaction. */
  async nested<Result>(body: () => Promise<Result>): Promise<Result> {
    const before = new Map(this.#writes);
    try {
      return await body();
    } catch (error) {
      this.#writes = before;
      throw error;
    }
  }

  get(id: string, { stale = false }: { stale?: boolean } = {}): Document | null {
    const table = tableOf(id);
    this.cost.storeCalls++;
    if (!stale) this.#ids.set(id, table);
    const document = this.#current(table, id, stale);
    if (document) this.cost.rowsRead++;
    this.#seen.add(id);
    return document;
  }

  /**
   * The documents of a range, in order. The dependency reaches as far as documents were requested: up to the last one taken, or over
   * the whole range if there were no more.
   */
  *scan(
    { table, index: name, range, order }: Scan,
    { stale = false }: { stale?: boolean } = {},
  ): Generator<Document, undefined> {
    this.cost.storeCalls++;
    this.cost.rangesRead++;
    const index = this.store.table(table).index(name);
    const read = { table, index: name, range };
    if (!stale) this.#ranges.push(read);
    const documents = stale ? index.scan(range, order, this.snapshot) : this.#overlaid(table, index, range, order);
    for (const document of documents) {
      this.cost.rowsRead++;
      this.#seen.add(document._id);
      const last = { prefix: index.keyOf(document), inclusive: true };
      read.range = order === "asc" ? { ...range, upper: last } : { ...range, lower: last };
      yield document;
    }
    read.range = range;
  }

  insert(table: string, fields: Record<string, Value | undefined>): string {
    const id = this.store.createId(table);
    // Each insert of a transaction has its own creation time, 1/4096 ms after that of the insert before.
    const _creationTime = this.now + ++this.#inserted / 2 ** 12;
    this.#write(table, id, { ...copyOf(fields), _id: id, _creationTime });
    return id;
  }

  patch(id: string, fields: Record<string, Value | undefined>): void {
    const before = this.#toChange(id);
    this.#change(before, { ...before, ...fields });
  }

  replace(id: string, fields: Record<string, Value | undefined>): void {
    this.#change(this.#toChange(id), fields);
  }

  delete(id: string): void {
    this.#write(tableOf(id), this.#toChange(id)._id, null);
  }

  #change(before: Document, fields: Record<string, Value | undefined>): void {
    const { _id, _creationTime } = before;
    const after = { ...copyOf(fields), _id, _creationTime };
    // As on the platform, a change to equal values writes nothing.
    if (compareValues(before, after) === 0) this.cost.storeCalls++;
    else this.#write(tableOf(_id), _id, after);
  }

  #write(table: string, id: string, document: Document | null): void {
    this.cost.storeCalls++;
    this.cost.rowsWritten++;
    this.#writes.set(id, { table, document });
  }

  #toChange(id: string): Document {
    const table = tableOf(id);
    this.#ids.set(id, table);
    this.cost.rowsReread++;
    // A document that the transaction has read or written is not fetched again.
    if (!this.#seen.has(id) && !this.#writes.has(id)) this.cost.readRounds++;
    const document = this.#current(table, id, false);
    if (!document) throw new Error(`There is no document ${id} to change.`);
    return document;
  }

  #current(table: string, id: string, stale: boolean): Document | null {
    const own = stale ? undefined : this.#writes.get(id);
    return own ? own.document : this.store.table(table).get(id, this.snapshot);
  }

  /** The snapshot's documents in the range, with this transaction's own writes in their places. */
  *#overlaid(table: string, index: TableIndex, range: Range, order: "asc" | "desc"): Generator<Document> {
    const own = [...this.#writes].filter(([, write]) => write.table === table);
    const stored = index.scan(range, order, this.snapshot);
    if (own.length === 0) {
      yield* stored;
      return;
    }
    const ids = new Set(own.map(([id]) => id));
    const written = own.flatMap(([, { document }]) =>
      document && isWithin(index.keyOf(document), range) ? [document] : [],
    );
    const sign = order === "asc" ? 1 : -1;
    yield* [...[...stored].filter(({ _id }) => !ids.has(_id)), ...written].sort(
      (a, b) => sign * comparePrefix(index.keyOf(a), index.keyOf(b)),
    );
  }
}
