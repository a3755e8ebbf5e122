/** One table: its documents by id, and its indexes. */
import { getConvexSize } from "convex/values";
import type { Document } from "./document.js";
import { TableIndex } from "./tableIndex.js";
import { addVersion, type Version, versionAt, wasWrittenSince } from "./versions.js";

/** The fields of each index, by name. */
export type IndexFields = Readonly<Record<string, readonly string[]>>;

const ID_BYTES = 32;

/** The index of a query that names none. */
export const BY_CREATION_TIME = "by_creation_time";

export class Table {
  readonly #documents = new Map<string, Version[]>();
  readonly #indexes: ReadonlyMap<string, TableIndex>;

  constructor(readonly indexFields: IndexFields) {
    this.#indexes = new Map(
      Object.entries({ ...indexFields, [BY_CREATION_TIME]: [] }).map(([name, fields]) => [
        name,
        new TableIndex(fields),
      ]),
    );
  }

  index(name: string): TableIndex {
    const index = this.#indexes.get(name);
    if (!index) throw new Error(`There is no index ${name}.`);
    return index;
  }

  get(id: string, snapshot: number): Document | null {
    return versionAt(this.#documents.get(id) ?? [], snapshot);
  }

  wasWrittenSince(id: string, snapshot: number): boolean {
    return wasWrittenSince(this.#documents.get(id) ?? [], snapshot);
  }

  /** Returns the number of bytes that are written: the document and its index keys. A deletion counts as 0. */
  write(id: string, after: Document | null, ts: number, oldest: number): number {
    const versions = this.#documents.get(id) ?? [];
    const before = versions.at(-1)?.document ?? null;
    for (const index of this.#indexes.values()) index.write(before, after, ts, oldest);
    this.#documents.set(id, versions);
    addVersion(versions, { ts, document: after }, oldest);
    if (!after) return 0;
    const keys = Object.values(this.indexFields).flat();
    // Ids here contain the name of their table. On the platform all ids have the same length.
    const documentBytes = getConvexSize({ ...after, _id: "" }) + ID_BYTES;
    return documentBytes + keys.reduce((total, field) => total + getConvexSize(after[field]), 0);
  }

  /** The documents that a snapshot shows. */
  *documents(snapshot: number): Generator<Document> {
    for (const versions of this.#documents.values()) {
      const document = versionAt(versions, snapshot);
      if (document) yield document;
    }
  }
}
