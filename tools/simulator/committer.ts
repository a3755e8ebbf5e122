/**
 * The one writer. It validates transactions one after another, each against all that were validated before it, published or not.
 * A valid transaction becomes durable, and is published in the order of validation.
 */
import type { Agenda } from "./agenda.js";
import { PLATFORM, type PlatformClass } from "./platform.js";
import { Queue } from "./queue.js";
import { lognormal, type Random } from "./random.js";
import type { Transaction } from "./transaction.js";

interface Submission {
  readonly transaction: Transaction;
  /** Bytes that the browser's session writes in the same transaction. */
  readonly extraBytes: number;
  readonly onPublished: () => void;
  readonly onConflict: () => void;
}

export class Committer {
  readonly #queue = new Queue<Submission>();
  #isBusy = false;
  #publishedMs = 0;

  constructor(
    readonly agenda: Agenda,
    readonly random: Random,
    readonly platform: Pick<PlatformClass, "bytesWrittenPerSecond">,
  ) {}

  submit(submission: Submission): void {
    this.#queue.push(submission);
    if (!this.#isBusy) this.#validateNext();
  }

  #validateNext(): void {
    this.#isBusy = false;
    for (let next = this.#queue.take(); next; next = this.#queue.take()) {
      const { transaction, extraBytes, onPublished, onConflict } = next;
      if (transaction.hasConflict()) {
        transaction.close();
        onConflict();
        continue;
      }
      const { ts, bytes } = transaction.stage();
      const writingMs = (1000 * (bytes + extraBytes)) / this.platform.bytesWrittenPerSecond;
      const doneMs = this.agenda.nowMs + writingMs;
      this.#publishedMs = Math.max(this.#publishedMs, doneMs + lognormal(this.random, PLATFORM.persistence));
      this.agenda.plan(this.#publishedMs, () => {
        transaction.store.publish(ts);
        onPublished();
      });
      this.#isBusy = true;
      this.agenda.plan(doneMs, () => {
        this.#validateNext();
      });
      return;
    }
  }
}
