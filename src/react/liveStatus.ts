/** A snapshot's status as time passes: a store for React, which changes only when the answer does. */
import { projectRateLimit } from "../engine/snapshot.js";
import type { RateLimitSnapshot, RateLimitStatus } from "../validators.js";
import type { ServerClock } from "./serverClock.js";

/** What is asked of the limit. */
export interface Demand {
  count?: number | undefined;
  reserve?: boolean | undefined;
}

/** An answer, and when it will be another one by itself: a wait ends, a window starts, the bucket is full. */
interface Answer {
  readonly status: RateLimitStatus;
  /** Undefined when the bucket is full: nothing comes after that. */
  readonly nextAt: number | undefined;
}

export class LiveStatus {
  private answer: Answer | undefined;

  constructor(
    private readonly snapshot: RateLimitSnapshot,
    private readonly demand: Demand,
    private readonly clock: ServerClock,
    private readonly needsServerTime: boolean,
  ) {}

  /** The status as of the last change, the same object until the next; undefined until the clock is known. */
  readonly status = (): RateLimitStatus | undefined => {
    if (this.needsServerTime && !this.clock.isMeasured) return undefined;
    this.answer ??= this.ask(this.clock.now());
    return this.answer.status;
  };

  /** The status at this moment, for this demand or another. */
  check(demand: Demand): RateLimitStatus {
    return this.project(this.clock.now(), demand);
  }

  /** Calls back whenever `status` has changed. */
  readonly subscribe = (onChange: () => void): (() => void) => {
    let stopWaiting: (() => void) | undefined;
    const update = (isSame: (before: Answer, after: Answer) => boolean) => {
      stopWaiting?.();
      stopWaiting = undefined;
      const before = this.answer;
      if (this.status() === undefined) return;
      const answer = this.ask(this.clock.now());
      if (!before || !isSame(before, answer)) {
        this.answer = answer;
        onChange();
      }
      if (answer.nextAt === undefined) return;
      stopWaiting = this.clock.wakeAt(answer.nextAt, () => {
        update(isSameToWaitFor);
      });
    };
    const stopListening = this.clock.subscribe(() => {
      update(isSameInAll);
    });
    update(isSameToWaitFor);
    return () => {
      stopListening();
      stopWaiting?.();
    };
  };

  private ask(now: number): Answer {
    const status = this.project(now, {});
    const untouched = this.project(now, { count: 0, reserve: false });
    if (status.ok && isFull(this.snapshot, untouched, now)) return { status, nextAt: undefined };
    const moments = [status.retryAt, untouched.resetAt].filter((moment) => moment !== undefined);
    const ahead = moments.filter((moment) => moment > now);
    return { status, nextAt: ahead.length === 0 ? undefined : Math.min(...ahead) };
  }

  private project(now: number, { count = this.demand.count, reserve = this.demand.reserve }: Demand): RateLimitStatus {
    return projectRateLimit(this.snapshot, {
      now,
      ...(count !== undefined && { count }),
      ...(reserve !== undefined && { reserve }),
    });
  }
}

/** What a status without a demand says of the bucket. */
function isFull({ config }: RateLimitSnapshot, { remaining = 0, resetAt = Infinity }: RateLimitStatus, now: number): boolean {
  switch (config.kind) {
    case "token bucket":
      return resetAt <= now;
    case "sliding window":
      return resetAt <= now;
    case "fixed window":
      return remaining >= Math.floor(config.capacity ?? config.rate);
  }
}

/** Whether nothing has changed that anybody waits for. Tokens that arrive on the way are not worth a render each. */
function isSameToWaitFor(before: Answer, after: Answer): boolean {
  if (before.nextAt === undefined || after.nextAt === undefined) return before.nextAt === after.nextAt;
  return before.status.ok === after.status.ok && before.nextAt === after.nextAt;
}

/** For a clock that was corrected: whatever is shown by the wrong one has to go. */
function isSameInAll({ status: a }: Answer, { status: b }: Answer): boolean {
  return a.ok === b.ok && a.retryAt === b.retryAt && a.resetAt === b.resetAt && a.remaining === b.remaining;
}
