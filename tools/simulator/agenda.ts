/** An event of virtual time. Events happen in the order of their times; those of equal times in the order of their planning. */
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
    this.#add({ atMs, rank: this.#planned++, run });
  }

  /** Runs events until `isOver` returns true, or until none is left. */
  async run(isOver: () => boolean = () => false): Promise<void> {
    while (!isOver()) {
      const event = this.#takeNext();
      if (!event) return;
      this.#nowMs = event.atMs;
      await event.run();
    }
  }

  #add(event: Event): void {
    let position = this.#heap.length;
    while (position > 0) {
      const above = (position - 1) >>> 1;
      const parent = this.#heap[above];
      if (!parent || !isBefore(event, parent)) break;
      this.#heap[position] = parent;
      position = above;
    }
    this.#heap[position] = event;
  }

  #takeNext(): Event | undefined {
    const [next] = this.#heap;
    const last = this.#heap.pop();
    if (next && last && next !== last) this.#sink(last);
    return next;
  }

  /** Puts an event into the place of the first one, which has been taken, and moves it down to its place in the heap. */
  #sink(event: Event): void {
    let position = 0;
    for (;;) {
      const [left, right] = [this.#heap[2 * position + 1], this.#heap[2 * position + 2]];
      const child = right && left && isBefore(right, left) ? right : left;
      if (!child || !isBefore(child, event)) break;
      this.#heap[position] = child;
      position = 2 * position + (child === left ? 1 : 2);
    }
    this.#heap[position] = event;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs === b.atMs ? a.rank < b.rank : a.atMs < b.atMs;
}
