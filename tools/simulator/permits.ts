/** Permits to run. At most `count` are held at once. Others wait for one, first come, first served, for at most `mostWaitMs`. */
import type { Agenda } from "./agenda.js";
import { Queue } from "./queue.js";

interface Waiter {
  readonly onPermit: () => void;
  isWaiting: boolean;
}

export class Permits {
  #free: number;
  readonly #waiters = new Queue<Waiter>();

  constructor(
    readonly agenda: Agenda,
    readonly count: number,
    readonly mostWaitMs: number,
  ) {
    this.#free = count;
  }

  /** Calls `onPermit` as soon as a permit is free, or `onTimeout` after `mostWaitMs`. */
  acquire(onPermit: () => void, onTimeout: () => void): void {
    if (this.#free > 0) {
      this.#free--;
      onPermit();
      return;
    }
    const waiter = { onPermit, isWaiting: true };
    this.#waiters.push(waiter);
    if (this.mostWaitMs === Infinity) return;
    this.agenda.plan(this.agenda.nowMs + this.mostWaitMs, () => {
      if (!waiter.isWaiting) return;
      waiter.isWaiting = false;
      onTimeout();
    });
  }

  release(): void {
    for (let next = this.#waiters.take(); next; next = this.#waiters.take()) {
      if (!next.isWaiting) continue;
      next.isWaiting = false;
      next.onPermit();
      return;
    }
    if (this.#free === this.count) throw new Error("A permit was released that nobody held.");
    this.#free++;
  }
}
