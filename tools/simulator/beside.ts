/** Operations beside the calls of a run: each is a mutation of its own, with attempts of its own. */
import { arrivals } from "./arrivals.js";
import { type Backend, EPOCH_MS } from "./backend.js";
import type { Operate } from "./design.js";
import { createRandom } from "./random.js";
import type { Beside, Operated, Request, Scenario } from "./scenario.js";

export class Operations {
  readonly done: Operated[] = [];
  /** Operations that have been planned and have not ended. */
  #open = 0;
  readonly #afterCalls: { readonly afterMs: number; readonly perform: (after: Request) => void }[] = [];

  constructor(
    readonly backend: Backend,
    /** The code of the last deploy. */
    readonly operate: () => Operate,
    { beside = [], seconds }: Scenario,
    seed: string,
  ) {
    for (const [i, one] of beside.entries()) this.#plan(one, seconds, `${seed}/beside/${i}`);
  }

  get isOver(): boolean {
    return this.#open === 0;
  }

  /** Plans what is done after a call. */
  follow(request: Request): void {
    const { outcome, endedMs } = request.call;
    if (outcome.kind !== "committed" || !outcome.value.ok) return;
    for (const { afterMs, perform } of this.#afterCalls)
      this.#later(endedMs + afterMs, () => {
        perform(request);
      });
  }

  #plan({ when, operation }: Beside, seconds: number, seed: string): void {
    const random = createRandom(seed);
    const perform = (after?: Request) => {
      const now = EPOCH_MS + Math.floor(this.backend.agenda.nowMs);
      const outcome = after?.call.outcome;
      const takenAt = outcome?.kind === "committed" ? outcome.value.takenAt : undefined;
      const chosen = operation({ now, random, takenAt });
      if (!chosen) return;
      this.#open++;
      this.backend.call(
        // An attempt after a deploy runs the new code.
        async (ctx) => await this.operate()(ctx, chosen),
        (call) => {
          this.#open--;
          this.done.push({ operation: chosen, after, call });
        },
      );
    };
    if ("afterMs" in when) {
      this.#afterCalls.push({ afterMs: when.afterMs, perform });
      return;
    }
    for (const atMs of "atMs" in when ? when.atMs : poisson(when.perSecond, seconds, seed)) {
      this.#later(atMs, () => {
        perform();
      });
    }
  }

  #later(atMs: number, perform: () => void): void {
    this.#open++;
    this.backend.agenda.plan(atMs, () => {
      this.#open--;
      perform();
    });
  }
}

function poisson(perSecond: number, seconds: number, seed: string): number[] {
  const counts = { from: 1, to: 1 };
  return arrivals({ pattern: "poisson", demand: perSecond, counts, seconds, seed }).map(({ atMs }) => atMs);
}
