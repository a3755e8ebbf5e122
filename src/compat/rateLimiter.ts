/** The class of `@convex-dev/rate-limiter`, as a thin layer over `defineRateLimits`. */
import type { GenericActionCtx, GenericDataModel } from "convex/server";
import { ConvexError } from "convex/values";
import type { ComponentApi } from "../../convex/_generated/component.js";
import { checkFields, type Fields } from "../engine/fields.js";
import { misuseError, needError } from "../engine/misuse.js";
import { defineRateLimits, type RateLimitStatus } from "../client/component.js";
import { anything, findBucket } from "../client/definitions.js";
import { readSnapshot } from "../client/exposure.js";
import { LIMIT_SET } from "../client/place.js";
import { type HookApi, hookApi, type HookOptions } from "./hookApi.js";
import { type GetValueReturns, ownConfig, type RateLimitConfig, type RateLimitError, valueOf } from "./official.js";

/** What `limit` and `check` are given: the name, and the options. */
export interface RateLimitArgs {
  name: string;
  /** The key of the bucket; without it the limit's one bucket for all. */
  key?: string;
  /** Tokens to take: a finite number of at least 0, default 1. */
  count?: number;
  /** Whether the tokens may be taken from the future, up to `maxReserved`. */
  reserve?: boolean;
  /** Whether a denial is thrown; with `reserve`, a wait is thrown as well, and nothing is reserved. */
  throws?: boolean;
  /** Required for a limit that is not defined. */
  config: RateLimitConfig;
}
type CallOptions = Omit<RateLimitArgs, "name" | "config">;

/** `ok: true`: go, after `retryAfter` milliseconds if that is there (reserved). `ok: false`: ask again after that. */
export type RateLimitReturns = { ok: true; retryAfter?: number } | { ok: false; retryAfter: number };

type Limits = Record<string, RateLimitConfig>;

/** A limit that is not defined needs a config. */
type Options<Defined, Name, Args> = Name extends keyof Defined
  ? [options?: Args]
  : [options: Args & { config: RateLimitConfig }];

/**
 * The required part of a ctx; functions that pass one on are declared with these types. An action's signatures fit all.
 */
export type QueryCtx = Pick<GenericActionCtx<GenericDataModel>, "runQuery">;
export type MutationCtx = Pick<GenericActionCtx<GenericDataModel>, "runQuery" | "runMutation">;
export type ActionCtx = MutationCtx;

/**
 * The calls, answers and error data of `@convex-dev/rate-limiter` 0.4.0, on this package's component: for apps that
 * move. Every call is transactional and exact, `applyUpdates: "asynchronously"` or not. Misuse is a plain `Error` that
 * names the limit, the field and what is permitted.
 *
 * @throws at module load, so that a deploy fails, when a config is invalid.
 * @example
 * ```ts
 * import { MINUTE, RateLimiter } from "convex-rate-limits/compat";
 * import { components } from "./_generated/api";
 *
 * export const rateLimiter = new RateLimiter(components.rateLimits, {
 *   sendMessage: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 3 },
 * });
 * ```
 */
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- Without limits no name is defined.
export class RateLimiter<Defined extends Limits = Record<never, never>> {
  readonly #functions: ReturnType<typeof functionsIn>;

  constructor(
    readonly component: ComponentApi,
    readonly limits?: Defined,
  ) {
    // The types forbid it, JavaScript does not. The error of `defineRateLimits` would not name this class.
    const needed = "the component: new RateLimiter(components.rateLimits, limits)";
    if ((component as unknown) === undefined) throw needError("RateLimiter", needed, component);
    this.#functions = functionsIn(component, limits ?? {});
  }

  /**
   * What `limit` would answer now. It takes nothing; also for queries.
   * @throws a plain `Error` for a count that the bucket can never hold.
   */
  async check<Name extends string = keyof Defined & string>(
    ctx: QueryCtx,
    name: Name,
    ...[options]: Options<Defined, Name, CallOptions>
  ): Promise<RateLimitReturns> {
    const status = await this.#functions.checkRateLimit(ctx, this.#request(name, options));
    return answer(name, status, { ...options });
  }

  /**
   * Takes the tokens, or says how long to wait. A denial writes nothing. Give it the ctx of a mutation or an action.
   * @throws a plain `Error` for a count that the bucket can never hold.
   */
  async limit<Name extends string = keyof Defined & string>(
    ctx: MutationCtx,
    name: Name,
    ...[options]: Options<Defined, Name, CallOptions>
  ): Promise<RateLimitReturns> {
    const { checkRateLimit, rateLimit } = this.#functions;
    const asked = this.#request(name, options);
    const given: CallOptions = { ...options };
    if (!given.throws || !asked.reserve) return answer(name, await rateLimit(ctx, asked), given);
    // More than a full bucket holds has to wait. The wait is thrown, and a caller that catches it must find nothing
    // reserved.
    const status = await checkRateLimit(ctx, asked);
    // Under an override the bucket may hold it.
    const needsWait = status.retryAt !== undefined;
    return answer(name, needsWait ? status : await rateLimit(ctx, { ...asked, reserve: false }), given);
  }

  /** Forgets the bucket: it is full again, on all its shards. */
  async reset(
    ctx: Pick<MutationCtx, "runMutation">,
    name: (keyof Defined & string) | (string & {}),
    options?: { key?: string; config?: RateLimitConfig },
  ): Promise<void> {
    checkFields(name, "the options", options ?? {}, OF_CALL);
    // A reset looks at no config, but a limit that is not defined must be given one.
    const config = { kind: "token bucket", rate: 1, period: 1 } as const;
    await this.#functions.resetRateLimit(ctx, { name, key: options?.key, config });
  }

  /** The bucket's state, the same at any time, with its config; `calculateRateLimit` projects it to a time. */
  async getValue<Name extends string = keyof Defined & string>(
    ctx: QueryCtx,
    name: Name,
    ...[options]: Options<Defined, Name, { key?: string; sampleShards?: number }>
  ): Promise<GetValueReturns> {
    checkFields(name, "the options", options ?? {}, OF_VALUE);
    return (await this.#read(ctx, name, { ...options })).value;
  }

  /** Public functions for the React hook: export them from a module. A client chooses neither name nor config. */
  hookAPI<DataModel extends GenericDataModel, Name extends string = keyof Defined & string>(
    name: Name,
    ...[options]: Options<Defined, Name, HookOptions<DataModel>>
  ): HookApi {
    checkFields(name, "the options", options ?? {}, OF_VALUE);
    const { key, config }: HookOptions<DataModel> & { config?: RateLimitConfig } = { ...options };
    return hookApi(name, key, async (ctx, found) => {
      const { snapshot, value } = await this.#read(ctx, name, { key: found, config });
      return { ...snapshot, ...value };
    });
  }

  /** A bucket's state, in our form and in the official component's. */
  async #read(ctx: QueryCtx, name: string, options: AnyArgs) {
    const set = this.#functions[LIMIT_SET];
    // By the config of a decision, also if the rows were last written under another.
    const bucket = findBucket(set.definitions, "getValue", bucketOf(name, options), { needsPlan: true });
    const snapshot = await readSnapshot(set, ctx as never, bucket);
    return { snapshot, value: valueOf(snapshot, (options.config ?? this.limits?.[name])?.shards) };
  }

  /** With `throws`, a call reserves nothing, unless it asks for more than a full bucket holds. */
  #request(name: string, given: AnyArgs | undefined) {
    const options = given ?? {};
    checkFields(name, "the options", options, OF_CALL);
    const config = options.config ?? this.limits?.[name];
    const { count, reserve, throws } = options;
    const most = config?.capacity ?? config?.rate ?? 0;
    // A count that is no number is refused where it is used.
    const tokens = typeof count === "number" ? count : 1;
    // A definition in JavaScript may say `throws`; what is thrown here has another form.
    return { ...bucketOf(name, options), count, reserve: throws && tokens <= most ? false : reserve, throws: false };
  }
}

function functionsIn(component: ComponentApi, limits: Limits) {
  const own = Object.entries(limits).map(([name, config]) => [name, ownConfig(config)] as const);
  return defineRateLimits(Object.fromEntries(own), { component });
}

type AnyArgs = CallOptions & { config?: RateLimitConfig | undefined };

/** Apps pass on one object, which has the name. A slip in `key` would ask the bucket that everybody shares. */
const OF_BUCKET: Fields = { key: anything, config: anything, name: anything };
const OF_VALUE: Fields = { ...OF_BUCKET, sampleShards: anything };
const OF_CALL: Fields = { ...OF_BUCKET, count: anything, reserve: anything, throws: anything };

function bucketOf(name: string, { key, config }: AnyArgs) {
  // JavaScript may pass null for none, as to the official component.
  return { name, key, config: (config && ownConfig(config)) ?? undefined };
}

/**
 * @throws a plain error for a count that the bucket can never hold, as the official component does, with `throws` or
 * without.
 */
function answer(name: string, status: RateLimitStatus, { count = 1, throws }: CallOptions): RateLimitReturns {
  const { ok, retryAt } = status;
  if (retryAt === undefined) return { ok: true };
  if (!status.ok && status.reason === "too large") {
    throw misuseError(name, `count ${count} exceeds what the bucket can ever hold.`);
  }
  // An action's clock is another machine's: a wait of 0 ms would mean none.
  const retryAfter = Math.max(1, retryAt - Date.now());
  if (throws) throw new ConvexError<RateLimitError>({ kind: "RateLimited", name, retryAfter });
  return { ok, retryAfter };
}
