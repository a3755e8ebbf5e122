/**
 * A request of a function's code to the platform. Requests are answered in the code's order, and not before the code waits. Then all
 * waiting reads are answered at once. A write or a call to another function is answered by itself.
 */
interface Syscall {
  readonly isRead: boolean;
  readonly run: () => Promise<void>;
}

export class Syscalls {
  readonly #waiting: Syscall[] = [];
  #isAnswering = false;

  /** @param onReads - called for each round of reads. */
  constructor(readonly onReads: () => void = () => undefined) {}

  async read<Result>(body: () => Result): Promise<Result> {
    return await this.#ask(true, body);
  }

  async alone<Result>(body: () => Result | Promise<Result>): Promise<Result> {
    return await this.#ask(false, body);
  }

  #ask<Result>(isRead: boolean, body: () => Result | Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const run = async () => {
        try {
          resolve(await body());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      this.#waiting.push({ isRead, run });
      if (!this.#isAnswering) void this.#answer();
    });
  }

  async #answer(): Promise<void> {
    this.#isAnswering = true;
    await codeWaits();
    while (this.#waiting.length > 0) {
      const reads = this.#waiting.filter(({ isRead }) => isRead);
      const batch = reads.length > 0 ? reads : this.#waiting.slice(0, 1);
      for (const syscall of batch) this.#waiting.splice(this.#waiting.indexOf(syscall), 1);
      if (reads.length > 0) this.onReads();
      for (const { run } of batch) await run();
      await codeWaits();
    }
    this.#isAnswering = false;
  }
}

/**
 * Runs a function after all microtasks, without the pause of a timeout. It is read at load, because tests replace `setImmediate`
 * together with the clock.
 */
const afterMicrotasks = "setImmediate" in globalThis ? setImmediate : createSetImmediate();

/** A `setImmediate` for browsers, which have none. */
function createSetImmediate(): (run: () => void) => void {
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  return (run) => {
    waiting.push(run);
    port2.postMessage(null);
  };
}

/** Resolves when the code has run as far as it can, which is after its microtasks. */
async function codeWaits(): Promise<void> {
  await new Promise<void>((resolve) => {
    afterMicrotasks(resolve);
  });
}
