/** What `defineRateLimits` takes: limits by name, and options. */
import type { Term } from "../engine/bucket.js";
import type { ConcurrencyConfig, FixedWindowConfig, QueueConfig, RateLimitConfig } from "../wire/configs.js";

/**
 * Whether a denial is thrown as a `ConvexError` (see `isRateLimitError`) instead of returned. With `{ jitter }` it is
 * thrown, and its wait is longer at random by up to this fraction (0 to 1). Not all clients of a limit then return at
 * once. Undefined: as the definition or the options say.
 */
export type ThrowChoice = boolean | { jitter: number } | undefined;

/** Whether a limit is enforced, or only tried: `"shadow"` decides and counts, and lets everybody through. */
export type Mode = "enforce" | "shadow";

/** A limit as `defineRateLimits` takes it: a config, whether it has keys, and how its denials are returned. */
export type RateLimitDefinition = RateLimitConfig & Terms;
export type RateLimitDefinitions = Record<string, RateLimitDefinition | (DraftDefinition & Required<PlansField>)>;
/** What an editor completes and the compiler infers from, before `CheckedDefinitions`: fields may be missing. */
export type DraftDefinitions = Record<string, DraftDefinition>;

/** The fields of a definition besides its config. */
interface Terms<Names extends string = string> {
  /**
   * Whether a call must give a key (`true`) or must not (`false`); without it both are allowed. Then a user id that is
   * undefined by mistake means the one bucket for everybody.
   */
  keyed?: boolean;
  /** Whether denials of this limit are thrown as a `ConvexError`; default: the option of `defineRateLimits`. */
  throws?: ThrowChoice;
  /**
   * `"shadow"` decides and counts, but lets everybody through; `status.shadow` is the true answer. Default `"enforce"`.
   */
  mode?: Mode;
  /**
   * Gives the limit a queue for jobs that wait for their tokens (`enqueueRateLimited`); `{}` is one with the defaults.
   */
  queue?: QueueConfig<Names>;
}

/** Some of the fields of a config: of the kind that is said, or of any. */
type FieldsOf<Config> = Config extends { kind: infer Kind } ? { kind: Kind } & Partial<Omit<Config, "kind">> : never;
/** The fields that a config of some kind may have. */
type EveryField = FixedWindowConfig & Pick<ConcurrencyConfig, "slots" | "lease">;
type AnyFields = Partial<Omit<EveryField, "kind">>;
type SomeFields = FieldsOf<RateLimitConfig> | ({ kind?: undefined } & AnyFields);
type DraftDefinition = Terms & SomeFields & PlansField;

/**
 * A limit with plans. The fields that all plans share are next to `plans`. A field of a plan wins over a shared one.
 */
interface PlansField {
  /**
   * The configs by plan; calls then say which one holds (`plan`). Plans of one kind, and windows of one period, share a
   * key's bucket.
   */
  plans?: Readonly<Record<string, SomeFields & { shards?: undefined }>>;
}

/** The definitions; if they have a fault, plain types: the compiler looks for unknown fields only in those. */
export type CheckedDefinitions<Limits, Whole = WholeDefinitions<Limits>> = string extends keyof Limits
  ? Limits
  : [Limits, UnknownFields<Limits, Whole>] extends [Whole, never]
    ? Limits & Whole
    : Whole & NoSuchField<UnknownFields<Limits, Whole>>;

/** The compiler shows this name where the definitions are a variable. */
interface NoSuchField<Field> {
  readonly "no such field": Field;
}
/** Also in the fields that are objects; of `any` nothing is known. */
type UnknownFields<Given, Whole> = unknown extends Given
  ? never
  : {
      [Field in keyof Given]-?: Field extends keyof Whole
        ? Given[Field] extends object
          ? UnknownFields<Given[Field], Extract<Whole[Field], object>>
          : never
        : Field;
    }[keyof Given];

type WholeDefinitions<Limits> = {
  [Name in keyof Limits]: WholeDefinition<Limits[Name], WithNames<Limits, Name>>;
};
/**
 * The limits that a queue may also take from: of tokens, without a queue, and with keys only if the queue's limit has
 * keys.
 */
type WithNames<Limits, Own extends keyof Limits> = {
  [Name in keyof Limits]: Limits[Name] extends
    | { queue: object }
    | { kind: "concurrency" }
    | (Limits[Own] extends { keyed: true } ? never : { keyed: true })
    ? never
    : Name;
}[keyof Limits] &
  string;
type WholeDefinition<Definition, Names extends string> = Definition extends { plans: infer Plans }
  ? Terms<Names> &
      AnyFields & { kind?: unknown } & {
        [Field in keyof PlansField]-?: {
          [Plan in keyof Plans]: WholePlan<
            Pick<Definition, keyof Definition & Exclude<keyof EveryField, keyof Plans[Plan]>>,
            OfKind<Omit<Definition, keyof Plans[Plan]> & Plans[Plan], FixedWindowConfig>
          >;
        };
      }
  : Terms<Names> & OfKind<Definition, RateLimitConfig>;
/** A plan is a config together with what the plans share, which must fit its kind. */
type WholePlan<Shared, Config> = {
  [Field in keyof Shared]-?: Shared[Field] extends Config[Field & keyof Config] ? Field : never;
}[keyof Shared] extends infer Fitting extends PropertyKey
  ? Omit<Config, Fitting> & Record<Exclude<keyof Shared, Fitting>, never>
  : never;
/** The config of the kind that the fields say. */
type OfKind<Fields, Default> = Fields extends { kind: infer Kind } ? Extract<RateLimitConfig, { kind: Kind }> : Default;

/** A parsed definition: its config, or that of each of its plans. */
export interface Definition extends Readonly<Terms> {
  readonly configs: readonly [Term, ...Term[]];
}

/** Options for a set of limits. */
export interface RateLimitsOptions<Default extends ThrowChoice = ThrowChoice> {
  /**
   * Whether denials are thrown, default false. With `true` no denial can be ignored: the type of an answer is then only
   * `ok: true`. The `throws` of a definition wins over this one, and that of a call over both.
   */
  throws?: Default | undefined;
  /**
   * Whether the error of a denial carries the key, default false. The error reaches the client: set it only where
   * clients may know the keys that the server chooses.
   */
  errorKeys?: boolean | undefined;
  /**
   * In your tables, for limits with a `queue`: the path of the module of yours (`"limits"`, `"model/limits"`) that
   * exports the functions of `exposeQueueWorker`. In the component the worker is the component's own.
   */
  queueModule?: string | undefined;
}
