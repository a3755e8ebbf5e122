/** Plans, as the types know them. */
import type { FixedWindowConfig, SlidingWindowConfig, TokenBucketConfig } from "../wire/configs.js";

/** Some of the fields of a config: of the kind that is said, or of any. */
type FieldsOf<Config> = Config extends { kind: infer Kind } ? { kind: Kind } & Partial<Omit<Config, "kind">> : never;
type SomeFields =
  | FieldsOf<TokenBucketConfig>
  | FieldsOf<FixedWindowConfig>
  | FieldsOf<SlidingWindowConfig>
  | ({ kind?: undefined } & Partial<Omit<FixedWindowConfig, "kind">>);

/** The fields that all plans share are next to `plans`. A field of a plan wins over a shared one. */
export type PlannedConfig = SomeFields & {
  /** The configs by plan; calls then say which one holds (`plan`). All plans of a key are one bucket. */
  plans: Readonly<Record<string, SomeFields & { shards?: undefined }>>;
};

/** The optional plan of a call that otherwise uses what the bucket's rows were written under. */
export type AnyPlanArg<Definition, Source = never> = Partial<PlanArg<Definition, Source>>;

/** The plan, by its name or as what leads to one, if the limit has plans. */
export type PlanArg<Definition, Source = never> = Definition extends { plans: infer Plans }
  ? { plan: (keyof Plans & string) | Source }
  : unknown;
