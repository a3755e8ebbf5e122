/**
 * The database: tables with the versions that open snapshots can see, and a commit that validates.
 *
 * A transaction conflicts if something that it read was written by a transaction that was validated after its snapshot, published
 * or not. That is a document that it read by id, or a document that entered, left or changed within an index range that it read.
 * Transactions are validated one at a time, so the result is the same as if they had run one after another in that order. Snapshots
 * see what is published.
 */
import { CommitTsPlaceholder, type Value } from "convex/values";
import type { Document } from "./document.js";
import type { Range } from "./key.js";
import { type IndexFields, Table } from "./table.js";

/** The reads that a transaction depends on. */
export interface Reads {
  readonly ranges: readonly { readonly table: string; readonly index: string; readonly range: Range }[];
  readonly ids: ReadonlyMap<string, string>;
}

/** The writes of a transaction: each id's table, and its document after the transaction, which is null if it is deleted. */
export type Writes = ReadonlyMap<string, { readonly table: string; readonly document: Document | null }>;

export class Store {
  readonly #tables = new Map<string, Table>();
  /** The number of transactions that read each open snapshot, in the order in which the snapshots were opened. */
  readonly #open = new Map<number, number>();
  #lastCommit = 0;
  #published = 0;
  #lastId = 0;
  #lastCommitTs = 0n;
  /** The timestamp of each commit, by the number of the commit. */
  readonly #commitTs: bigint[] = [0n];

  /** @param clockMs - the clock of the database, in ms since the epoch. Commit timestamps are of this clock, and rise. */
  constructor(readonly clockMs: () => number = () => 0) {}

  defineTable(name: string, indexFields: IndexFields): void {
    if (this.#tables.has(name)) throw new Error(`There already is a table ${name}.`);
    this.#tables.set(name, new Table(indexFields));
  }

  table(name: string): Table {
    const table = this.#tables.get(name);
    if (!table) throw new Error(`There is no table ${name}.`);
    return table;
  }

  createId(table: string): string {
    return `${table}|${++this.#lastId}`;
  }

  /** The last commit that a new snapshot shows. */
  get published(): number {
    return this.#published;
  }

  /** The timestamp of a snapshot. Every later commit has a later timestamp. */
  snapshotTs(snapshot: number): bigint {
    return this.#commitTs[snapshot] ?? 0n;
  }

  openSnapshot(): number {
    this.#open.set(this.#published, (this.#open.get(this.#published) ?? 0) + 1);
    return this.#published;
  }

  closeSnapshot(snapshot: number): void {
    const readers = this.#open.get(snapshot);
    if (!readers) throw new Error(`The snapshot ${snapshot} is not open.`);
    if (readers === 1) this.#open.delete(snapshot);
    else this.#open.set(snapshot, readers - 1);
  }

  hasConflict(snapshot: number, { ranges, ids }: Reads): boolean {
    for (const { table, index, range } of ranges) {
      if (this.table(table).index(index).hasChangedSince(range, snapshot)) return true;
    }
    for (const [id, table] of ids) {
      if (this.table(table).wasWrittenSince(id, snapshot)) return true;
    }
    return false;
  }

  /**
   * Writes without validation: `hasConflict` must have been called just before. Transactions that are validated from now on conflict
   * with these writes. Snapshots see them once `ts` is published.
   */
  stage(writes: Writes): { ts: number; bytes: number } {
    const ts = ++this.#lastCommit;
    const oldest = this.#oldestSnapshot();
    const clockNs = BigInt(Math.floor(1000 * this.clockMs())) * 1000n;
    this.#lastCommitTs = clockNs > this.#lastCommitTs ? clockNs : this.#lastCommitTs + 1n;
    this.#commitTs[ts] = this.#lastCommitTs;
    let bytes = 0;
    for (const [id, { table, document }] of writes) {
      bytes += this.table(table).write(id, document && withCommitTs(document, this.#lastCommitTs), ts, oldest);
    }
    return { ts, bytes };
  }

  publish(ts: number): void {
    if (ts !== this.#published + 1) throw new Error(`Commit ${ts} cannot be published after ${this.#published}.`);
    this.#published = ts;
  }

  /**
   * A separate store that begins with what a snapshot shows, by default the latest. Writes to one of the two stores do not show in
   * the other.
   */
  fork(snapshot = this.#published): Store {
    const fork = new Store(this.clockMs);
    fork.#lastId = this.#lastId;
    for (const [name, table] of this.#tables) {
      fork.defineTable(name, table.indexFields);
      const documents = [...table.documents(snapshot)];
      fork.publish(fork.stage(new Map(documents.map((document) => [document._id, { table: name, document }]))).ts);
    }
    return fork;
  }

  /** The number of published documents in the tables of this name, in all components. */
  count(tableName: string): number {
    const tables = [...this.#tables].filter(([name]) => name.endsWith(`/${tableName}`));
    return tables.reduce((total, [, table]) => total + [...table.documents(this.#published)].length, 0);
  }

  #oldestSnapshot(): number {
    for (const snapshot of this.#open.keys()) return snapshot;
    return this.#published;
  }
}

/** The document with the commit's timestamp in place of `ctx.db.vars.commitTs`. The timestamp is known only at the commit. */
function withCommitTs(document: Document, commitTs: bigint): Document {
  const fields: [string, Value][] = Object.entries(document);
  if (!fields.some(([, value]) => (value as unknown) instanceof CommitTsPlaceholder)) return document;
  return Object.fromEntries(
    fields.map(([name, value]) => [name, (value as unknown) instanceof CommitTsPlaceholder ? commitTs : value]),
  ) as Document;
}
