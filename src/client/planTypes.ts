/** Definitions as the types hold them to what can be called: those with plans, and no field that is unknown. */
import type { FixedWindowConfig, RateLimitConfig, SlidingWindowConfig, TokenBucketConfig } from "../wire/configs.js";
import type { RateLimitDefinition, Terms } from "./args.js";

/** The fields of all configs: what plans share has a part of them, and each plan another. */
type SharedFields = Partial<Omit<FixedWindowConfig, "kind">> & { kind?: RateLimitConfig["kind"] };
type PlanFields = Omit<SharedFields, "shards">;

/** A limit with plans: what they share stands beside them. A field of a plan stands before a shared one. */
export type PlannedDefinition = SharedFields &
  Omit<Terms, "queue"> & {
    /** The configs by plan; calls then say which one holds (`plan`). All plans of a key are one bucket. */
    plans: Readonly<Record<string, PlanFields>>;
  };

/** The plan, by its name or as what leads to one, if the limit has plans. */
export type PlanArg<Definition, Source = never> = Definition extends { plans: infer Plans }
  ? { plan: (keyof Plans & string) | Source }
  : { plan?: undefined };

/** The compiler looks for unknown fields in plain types only; this finds them in an inferred one: a `burst` must be never. */
export type KnownFields<Limits> = {
  [Name in keyof Limits]: string extends keyof Limits
    ? Limits[Name]
    : Limits[Name] extends { plans: infer Plans }
      ? PlannedDefinition & { plans: { [Plan in keyof Plans]: WholePlan<Limits[Name], Plans[Plan]> } } & Record<
            Exclude<keyof Limits[Name], keyof PlannedDefinition>,
            never
          >
      : RateLimitDefinition & Record<Exclude<keyof Limits[Name], FieldOf<Limits[Name]>>, never>;
};

/** A plan is a config together with what the plans share: of that, the fields that are missing. */
type WholePlan<Shared, Plan> = Omit<Shared, keyof Terms | "plans" | keyof Plan> & Plan extends RateLimitConfig
  ? Record<Exclude<keyof Plan, keyof PlanFields>, never>
  : Required<Pick<SharedFields, Exclude<"kind" | "rate" | "period", keyof Shared>>>;

type FieldOf<Definition> =
  | keyof Terms
  | (Definition extends { kind: infer Kind }
      ? keyof Extract<TokenBucketConfig | FixedWindowConfig | SlidingWindowConfig, { kind: Kind }>
      : never);
