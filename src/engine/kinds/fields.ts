/**
 * The fields of configs, by kind. Data, without the kinds themselves: an app whose limits live in the component checks
 * its definitions by this table and leaves the rest to the component.
 */
import type { FixedWindowConfig, RateLimitConfig } from "../../wire/configs.js";
import { checkFields, type Field, type Fields, isObject, isPermitted } from "../fields.js";
import { fieldError } from "../misuse.js";
import { MAX_SHARDS } from "../sharding/interval.js";
import { MAX_TOKENS, MIN_TOKENS } from "../units.js";

/** Each slot is an entry of the log, and a row holds this many (log.ts). */
export const MAX_SLOTS = 64;

/** Made by the first check, and then remembered: a run that checks no config does not pay for it. */
let byKind: Readonly<Record<string, Fields>> | undefined;

/** The fields of each kind of limit besides `kind`, by its name. */
export function fieldsByKind(): Readonly<Record<string, Fields>> {
  return (byKind ??= makeFields());
}

/** Exported for mutation testing, which makes the table in each test (scripts/mutants/setup.ts). */
export function makeFields(): Readonly<Record<string, Fields>> {
  // Milliseconds: 31,000 years.
  const MAX_PERIOD_MS = 1e15;
  const rate: Field = { atLeast: MIN_TOKENS, atMost: MAX_TOKENS, isRequired: true };
  const tokens: Field = { atLeast: 0, atMost: MAX_TOKENS };
  const isRowCount = isPermitted.bind(null, { atLeast: 1, atMost: MAX_SHARDS, isWhole: true });
  const shards: Field = {
    permitted: `a whole number from 1 to ${MAX_SHARDS}, "auto", or { atLeast, atMost } of such numbers`,
    holds(value) {
      if (!isObject(value)) return value === "auto" || isRowCount(value);
      const { atLeast = 1, atMost = MAX_SHARDS, ...others } = value as { atLeast?: number; atMost?: number };
      return isRowCount(atLeast) && isRowCount(atMost) && atLeast <= atMost && Object.keys(others).length === 0;
    },
  };
  const owing = { maxReserved: tokens, shards };
  const saving = { capacity: tokens, ...owing };
  const ms = { above: 0, atMost: MAX_PERIOD_MS, isWhole: true, unit: "milliseconds", isRequired: true } as const;
  return {
    "token bucket": { rate, period: { above: 0, atMost: MAX_PERIOD_MS, isRequired: true }, ...saving },
    "fixed window": {
      rate,
      period: { ...ms, oneOf: ["day", "week", "month", "year"] },
      ...saving,
      // Within ±MAX_PERIOD_MS the distance from any real time to `start` is exact.
      start: { atLeast: -MAX_PERIOD_MS, atMost: MAX_PERIOD_MS, isWhole: true, unit: "milliseconds" },
      timeZone: { permitted: 'the IANA name of a time zone, such as "Europe/Berlin"', holds: isTimeZone },
      anchor: { permitted: "a whole number", holds: Number.isInteger },
    },
    "sliding window": { rate, period: ms, ...owing },
    concurrency: { slots: { atLeast: 1, atMost: MAX_SLOTS, isWhole: true, isRequired: true }, lease: ms },
  };
}

/**
 * @throws when a field is missing, unknown, out of range or beside one that excludes it; naming limit, field, value and
 * range.
 */
export function checkConfig(name: string, config: RateLimitConfig): void {
  // JavaScript may pass anything.
  const given: unknown = config;
  if (!isObject(given)) throw fieldError(name, "config", "an object", config);
  // typeof: an array of one string would pass for its element.
  const kinds = fieldsByKind();
  const fields = typeof config.kind === "string" && Object.hasOwn(kinds, config.kind) ? kinds[config.kind] : undefined;
  if (!fields) {
    const known = Object.keys(kinds).map((one) => `"${one}"`);
    throw fieldError(name, "kind", known.join(" or "), config.kind);
  }
  // The name of this kind alone is no limit.
  const what = config.kind === "concurrency" ? "a concurrency limit" : `a ${config.kind}`;
  checkFields(name, what, config, { kind: { oneOf: [config.kind] }, ...fields });
  checkWindows(name, config as FixedWindowConfig);
}

/**
 * @throws when a field for a period in milliseconds is combined with a calendar's period, or the reverse, or the anchor
 * lies outside its period.
 */
function checkWindows(name: string, { period, start, timeZone, anchor }: FixedWindowConfig): void {
  if (typeof period !== "string") {
    const [field, value] = timeZone === undefined ? ["anchor", anchor] : ["timeZone", timeZone];
    if (value !== undefined)
      throw fieldError(name, field, 'left out unless period is "day", "week", "month" or "year"', value);
    return;
  }
  if (start !== undefined) throw fieldError(name, "start", `left out when period is "${period}": give anchor`, start);
  const [least, most] = ANCHORS[period];
  if (anchor !== undefined && !(anchor >= least && anchor <= most)) {
    throw fieldError(name, "anchor", `a whole number from ${least} to ${most} (period is "${period}")`, anchor);
  }
}

/**
 * The anchors of a period: years begin with a month from 1 to 12, months on a day from 1 to 31, weeks on a weekday (1
 * is Monday), days at a minute from 0 to 1439.
 */
export const ANCHORS = { day: [0, 1439], week: [1, 7], month: [1, 31], year: [1, 12] } as const;

/** To ask `Intl` takes longer than all else in a call that gives a config. */
const knownZones = new Set<string>();

/** Whether `Intl` knows the zone by an IANA name, such as "Europe/Berlin", "Etc/GMT+5" or "UTC". */
export function isTimeZone(timeZone: unknown): timeZone is string {
  // The names of three letters in the IANA time zone database.
  const IANA_ABBREVIATIONS = "CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET ";
  // Some runtimes also take offsets, and the abbreviations of ICU: "IST" is three zones, and ICU picks one.
  if (typeof timeZone !== "string" || !/^[a-z]/i.test(timeZone) || /^systemv\//i.test(timeZone)) return false;
  if (timeZone.length === 3 && !IANA_ABBREVIATIONS.includes(`${timeZone.toUpperCase()} `)) return false;
  if (knownZones.has(timeZone)) return true;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone });
    knownZones.add(timeZone);
    return true;
  } catch {
    return false;
  }
}
