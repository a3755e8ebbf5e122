/** Plans, as the types know them. */
import type { FixedWindowConfig, SlidingWindowConfig, TokenBucketConfig } from "../wire/configs.js";

/** Some of the fields of a config: of the kind that is said, or of any. */
type PartOf<Config> = Config extends { kind: infer Kind } ? { kind: Kind } & Partial<Omit<Config, "kind">> : never;
type ConfigPart =
  | PartOf<TokenBucketConfig>
  | PartOf<FixedWindowConfig>
  | PartOf<SlidingWindowConfig>
  | ({ kind?: undefined } & Partial<Omit<FixedWindowConfig, "kind">>);

/** What plans share stands beside them; a field of a plan stands before a shared one. */
export type PlannedConfig = ConfigPart & {
  /** The configs by plan; calls then say which one holds (`plan`). All plans of a key are one bucket. */
  plans: Readonly<Record<string, ConfigPart & { shards?: undefined }>>;
};

/** The plan, by its name or as what leads to one, if the limit has plans. */
export type PlanArg<Definition, Source = never> = Definition extends { plans: infer Plans }
  ? { plan: (keyof Plans & string) | Source }
  : unknown;
