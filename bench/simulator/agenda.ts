/** Virtual time: what happens next, in the order of its time, and of its planning where the times are equal. */
type Event = { readonly atMs: number; readonly rank: number; readonly run: () => void | Promise<void> };

export class Agenda {
  /** A binary heap: no event is earlier than its parent. */
  readonly #heap: Event[] = [];
  #nowMs = 0;
  #planned = 0;

  /** Milliseconds since the start of the run; not whole. */
  get nowMs(): number {
    return this.#nowMs;
  }

  plan(atMs: number, run: () => void | Promise<void>): void {
    if (atMs < this.#nowMs) throw new Error(`${atMs} ms is past.`);
    const event = { atMs, rank: this.#planned++, run };
    let child = this.#heap.push(event) - 1;
    while (child > 0) {
      const parent = (child - 1) >>> 1;
      if (!this.#isBefore(child, parent)) break;
      this.#swap(child, parent);
      child = parent;
    }
  }

  /** Lets events happen until `isOver`, or until none is left. */
  async run(isOver: () => boolean = () => false): Promise<void> {
    while (!isOver()) {
      const event = this.#next();
      if (!event) return;
      this.#nowMs = event.atMs;
      await event.run();
    }
  }

  #next(): Event | undefined {
    const [next] = this.#heap;
    const last = this.#heap.pop();
    if (!next || !last || next === last) return next;
    this.#heap[0] = last;
    let parent = 0;
    for (;;) {
      let first = parent;
      for (const child of [2 * parent + 1, 2 * parent + 2]) {
        if (child < this.#heap.length && this.#isBefore(child, first)) first = child;
      }
      if (first === parent) return next;
      this.#swap(parent, first);
      parent = first;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a] as Event, this.#heap[b] as Event];
    return one.atMs === other.atMs ? one.rank < other.rank : one.atMs < other.atMs;
  }

  #swap(a: number, b: number): void {
    [this.#heap[a], this.#heap[b]] = [this.#heap[b] as Event, this.#heap[a] as Event];
  }
}
