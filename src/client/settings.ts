/** The options of a set of limits. */
import type { RateLimitStatus } from "../wire/answers.js";
import type { RateLimitConfig } from "../wire/configs.js";
import type { Mode, ThrowChoice } from "./args.js";

/** A decision, as `onDecision` gets it. Changing it changes nothing. */
export interface RateLimitDecision {
  name: string;
  key?: string | undefined;
  /** The tokens that were asked for. */
  count: number;
  /** For a call that takes as much as there is: the fewest tokens that suffice. */
  atLeast?: number | undefined;
  reserve: boolean | { within: number };
  /** The true answer, also in shadow. */
  status: RateLimitStatus;
  /** Whether the answer holds, or the caller is let through. */
  mode: Mode;
  /** The config that decided, as the call or the definition gives it. */
  config: RateLimitConfig;
  /** The plan that the call named, for a limit with plans. */
  plan?: string;
}

/** Options for a set of limits. `Ctx` is what `onDecision` needs; calls that decide must then be given it. */
export interface RateLimitsOptions<Ctx = never, Default extends ThrowChoice | undefined = ThrowChoice | undefined> {
  /**
   * Whether denials are thrown, default false. With `true` nobody can forget to look at an answer, whose type is then only
   * `ok: true`. A definition, and a call, may say otherwise.
   */
  throws?: Default | undefined;
  /**
   * Called after each decision of `rateLimit`, `rateLimitAll` and `scheduleRateLimited`, in the caller's transaction and with its
   * `ctx`, before a denial is thrown: for counting, logging, audit. It changes no decision. If it throws, the call throws. For
   * `rateLimitAll` it is called once for each limit that denied.
   */
  onDecision?: ((ctx: Ctx, decision: RateLimitDecision) => void | Promise<void>) | undefined;
  /**
   * Whether the error of a denial carries the key, default false. The error reaches the client: set it only where clients may
   * know the keys that the server chooses.
   */
  errorKeys?: boolean | undefined;
  /**
   * In your tables, for limits with a `queue`: the path of the module of yours (`"limits"`, `"model/limits"`) that exports the functions
   * of `exposeQueueWorker`. In the component the worker is the component's own.
   */
  queueModule?: string | undefined;
}
