/** One index of one table. It holds every key that an open snapshot can see, in order, each with the versions of its document. */
import { addVersion, type Version, versionAt, wasWrittenSince } from "./versions.js";
import type { Document } from "./document.js";
import { comparePrefix, isAbove, isBelow, type Key, type Range } from "./key.js";

interface Entry {
  readonly key: Key;
  readonly versions: Version[];
}

export class TableIndex {
  readonly #entries: Entry[] = [];
  /** Entries that end in a deletion, in the order of the deletions. They are removed once no snapshot sees an earlier version. */
  readonly #ended: { entry: Entry; ts: number }[] = [];

  constructor(readonly fields: readonly string[]) {}

  /** The number of keys, including those that only older snapshots see. */
  get size(): number {
    return this.#entries.length;
  }

  keyOf(document: Document): Key {
    return [...this.fields.map((field) => document[field]), document._creationTime, document._id];
  }

  /** The documents in a range, in order, as the snapshot sees them. */
  *scan({ lower, upper }: Range, order: "asc" | "desc", snapshot: number): Generator<Document> {
    const from = this.#find((key) => isAbove(key, lower));
    const to = this.#find((key) => !isBelow(key, upper));
    for (let i = 0; i < to - from; i++) {
      const entry = this.#entries[order === "asc" ? from + i : to - 1 - i];
      const document = entry && versionAt(entry.versions, snapshot);
      if (document) yield document;
    }
  }

  /** Whether any document entered the range, left it, or changed within it after the snapshot. */
  hasChangedSince({ lower, upper }: Range, snapshot: number): boolean {
    const to = this.#find((key) => !isBelow(key, upper));
    for (let i = this.#find((key) => isAbove(key, lower)); i < to; i++) {
      const entry = this.#entries[i];
      if (entry && wasWrittenSince(entry.versions, snapshot)) return true;
    }
    return false;
  }

  write(before: Document | null, after: Document | null, ts: number, oldest: number): void {
    this.#forget(oldest);
    const left = before && this.keyOf(before);
    const entered = after && this.keyOf(after);
    const stays = left && entered && comparePrefix(left, entered) === 0;
    if (left && !stays) {
      const entry = this.#entryAt(left);
      addVersion(entry.versions, { ts, document: null }, oldest);
      this.#ended.push({ entry, ts });
    }
    if (entered) addVersion(this.#entryAt(entered).versions, { ts, document: after }, oldest);
  }

  #entryAt(key: Key): Entry {
    const position = this.#find((other) => comparePrefix(other, key) >= 0);
    const found = this.#entries[position];
    if (found && comparePrefix(found.key, key) === 0) return found;
    const entry = { key, versions: [] };
    this.#entries.splice(position, 0, entry);
    return entry;
  }

  #forget(oldest: number): void {
    for (let first = this.#ended[0]; first && first.ts <= oldest; first = this.#ended[0]) {
      this.#ended.shift();
      // Since then the document may have come back under the same key, or may have been deleted again.
      const last = first.entry.versions.at(-1);
      if (last?.document === null && last.ts === first.ts) {
        const { key } = first.entry;
        this.#entries.splice(
          this.#find((other) => comparePrefix(other, key) >= 0),
          1,
        );
      }
    }
  }

  /** The first position whose key satisfies `holds`, a condition that is true from some key on. */
  #find(holds: (key: Key) => boolean): number {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.#entries[middle];
      if (entry && holds(entry.key)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
