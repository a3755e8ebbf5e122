/**
 * What an operator decided about a bucket: an override of its limit, a pause, a reset. It is stored in a row of its
 * own, the control row, which every call reads: so one write that conflicts with no call is enough, however many rows
 * the bucket has.
 *
 * Invariant: each pause, and each reset that is written there, raises `count`, and a bucket's row stores the count that
 * it has seen. A row that has seen less applies what came later when it is read. The order of the commits decides, not
 * clocks, which differ.
 */
import type { RateLimitOverride } from "../wire/configs.js";
import type { StoredControl } from "../wire/snapshots.js";
import { checkFields, type Field, type Fields, isObject } from "./fields.js";
import { forgotten } from "./headroom.js";
import type { Limit, State } from "./kinds/kind.js";
import { MAX_SLOTS } from "./kinds/fields.js";
import { parseLimit } from "./kinds/limit.js";
import { misuseError, show } from "./misuse.js";
import { type Bucket, limitUnder, storedConfig } from "./bucket.js";
import { END_OF_TIME } from "./time.js";
import { MAX_TOKENS } from "./units.js";

/** The control row of a bucket, or that of none. */
export interface Control extends StoredControl {
  readonly override?: RateLimitOverride | undefined;
}

export const NO_CONTROL: Control = { count: 0 };

/** Until when nothing starts: a time that may have passed, or 0. */
export function pausedUntil({ pause }: Control): number {
  return pause?.until ?? 0;
}

/** A control row with a pause; as it is if the pause before ends no sooner. */
export function withPause(control: Control, at: number, until: number): Control {
  if (until <= pausedUntil(control)) return control;
  const count = control.count + 1;
  return { ...control, count, pause: { count, at, until, ...endAfter(control, at) } };
}

/** A control row with a reset, which also ends a pause. @param promised - the last time that logs had promised. */
export function withReset(control: Control, at: number, promised = 0): Control {
  const count = control.count + 1;
  const until = Math.max(promised, forgottenUntil(control));
  return {
    ...withoutPause(control),
    count,
    reset: { count, at, ...(until > at && { until }), ...endAfter(control, at) },
  };
}

/** Until when a job may hold a promise that a reset has forgotten: it is told from those that are made later. */
export function forgottenUntil({ reset }: Control): number {
  return reset?.until ?? 0;
}

/** The end of a pause that is not over: what was written in it has that date. */
function endAfter(control: Control, at: number) {
  const after = pausedUntil(control);
  return after > at && { after };
}

export function withoutPause({ pause: _, ...control }: Control): Control {
  return control;
}

/** How much a row has seen of its control row: more than there is if one that could not be used was cleared. */
export function countKnownTo({ seen = 0 }: Pick<State, "seen">, { count }: Control): number {
  return seen <= count ? seen : 0;
}

/** The state of a row after what it has not seen of its control row. */
export function applyControl(limit: Limit, state: State, control: Control): State {
  const { count, reset, pause } = control;
  const seen = countKnownTo(state, control);
  if (seen === count) return state;
  const begun = reset && seen < reset.count ? forgotten(limit, state.ts, reset) : state;
  const left = pause && seen < pause.count ? limit.kind.pause(limit, begun, pause) : begun;
  return { ...left, seen: count };
}

/** The override in force, as it applies to a bucket: it blocks, has no bound, or has a limit. */
export interface Override {
  /** The end of time if it has no end. */
  readonly until: number;
  readonly reason?: "blocked";
  readonly unlimited?: true;
  readonly limit?: Limit;
}

/** An override has exactly one of them. */
export const OVERRIDES = ["config", "more", "block", "unlimited"] as const;

function makeFields(): Fields {
  // A note is for people who look at a list: long enough for a reason and a link to a ticket.
  const MAX_NOTE = 500;
  const onlyTrue: Field = { permitted: "true", holds: (value) => value === true };
  return {
    config: { permitted: "a config", holds: isObject },
    more: { above: 0, atMost: MAX_TOKENS },
    block: onlyTrue,
    unlimited: onlyTrue,
    until: { above: 0, atMost: END_OF_TIME, unit: "milliseconds since the epoch", isWhole: true },
    note: {
      permitted: `a well-formed string of at most ${MAX_NOTE} characters (UTF-16 units)`,
      holds: (value) => typeof value === "string" && value.length <= MAX_NOTE && value.isWellFormed(),
    },
  };
}

/**
 * An override as it is stored: its config with the defaults filled in, and without `shards`, since the rows stay the
 * limit's own.
 * @throws when it is not exactly one of config, more, block and unlimited, or a field is unknown or out of range.
 */
export function parseOverride(name: string, override: RateLimitOverride): RateLimitOverride {
  checkFields(name, "overrideRateLimit", override, makeFields());
  const { config } = override;
  const given = OVERRIDES.filter((way) => override[way] !== undefined);
  if (given.length !== 1) {
    const got = given.length === 0 ? "none of them" : given.join(" and ");
    throw misuseError(name, `an override must have exactly one of config, more, block and unlimited, got ${got}.`);
  }
  // Convex stores no field that is undefined.
  return { ...override, ...(config && { config: storedConfig(parseLimit(name, config).config) }) };
}

/**
 * The override that a control row holds at a time, as it applies to a bucket.
 * @throws when this package cannot have written it: nothing is let through until it is cleared.
 */
export function overrideOf(bucket: Bucket, { override }: Control, now: number): Override | undefined {
  if (!override) return undefined;
  const { name, limit } = bucket;
  try {
    const { config, more, block, until = END_OF_TIME } = parseOverride(name, override);
    if (now >= until) return undefined;
    if (block) return { until, reason: "blocked" };
    if (config) return { until, limit: limitUnder(bucket, config) };
    return more === undefined ? { until, unlimited: true } : { until, limit: limitUnder(bucket, added(limit, more)) };
  } catch (error) {
    throw overrideError(bucket, (error as Error).message);
  }
}

/**
 * A config whose periods bring more, up to the most that a config may name. The sums are those of decimals: as doubles
 * 0.1 and 0.2 are 0.30000000000000004, which is too fine to be counted.
 */
function added({ config }: Limit, more: number): Limit["config"] {
  if ("lease" in config) return { ...config, slots: Math.min(MAX_SLOTS, Math.floor(config.slots + more)) };
  const { rate, capacity } = config;
  const sum = (tokens: number) => Math.min(MAX_TOKENS, Number((tokens + more).toPrecision(15)));
  return { ...config, rate: sum(rate), ...(capacity !== undefined && { capacity: sum(capacity) }) } as typeof config;
}

export function overrideError({ name, key }: { name: string; key?: string | undefined }, problem: string): Error {
  const bucket = key === undefined ? "" : ` of key ${show(key)}`;
  return misuseError(
    name,
    `the stored override${bucket} cannot be used, so nothing is let through; ` +
      `clearRateLimitOverride removes it. ${problem}`,
  );
}
