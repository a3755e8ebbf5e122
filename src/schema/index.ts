/**
 * convex-rate-limits/schema: the table, and validators of what apps store or return. An entry of its own, so that functions that only
 * call a limit do not build them in every run. The types are named, because the compiler would write each of them out in full.
 */
import {
  statusValidator,
  allStatusValidator,
  jobValidator,
  pageValidator,
  sweepResultValidator,
} from "../wire/answers.js";
import { configValidator, overrideFields } from "../wire/configs.js";
import { snapshotValidator } from "../wire/snapshots.js";
import { v } from "convex/values";

export { type RateLimitsDataModel, rateLimitTables } from "../storage/tables.js";

/** The validator of a `RateLimitConfig`. */
export const vRateLimitConfig: ReturnType<typeof configValidator> = /* @__PURE__ */ configValidator();
/** The validator of a `RateLimitOverride`. */
export const vRateLimitOverride = /* @__PURE__ */ v.object(/* @__PURE__ */ overrideFields());
/** The validator of a `RateLimitSnapshot`: what `getRateLimit` returns. */
export const vRateLimitSnapshot: ReturnType<typeof snapshotValidator> = /* @__PURE__ */ snapshotValidator();
/** The validator of a `RateLimitStatus`: what `rateLimit` returns. */
export const vRateLimitStatus: ReturnType<typeof statusValidator> = /* @__PURE__ */ statusValidator();
/** The validator of a `RateLimitAllStatus`: what `rateLimitAll` returns. */
export const vRateLimitAllStatus: ReturnType<typeof allStatusValidator> = /* @__PURE__ */ allStatusValidator();
/** The validator of a `RateLimitPage`: what `listRateLimits` returns. */
export const vRateLimitPage: ReturnType<typeof pageValidator> = /* @__PURE__ */ pageValidator();
/** The validator of a `SweepResult`: what `sweepRateLimits` returns. */
export const vSweepResult: ReturnType<typeof sweepResultValidator> = /* @__PURE__ */ sweepResultValidator();
/** The validator of a `RateLimitedJob`, to store one in a document. */
export const vRateLimitedJob: ReturnType<typeof jobValidator> = /* @__PURE__ */ jobValidator();
