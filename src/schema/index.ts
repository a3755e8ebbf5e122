/**
 * convex-rate-limits/schema: the table, and validators of what apps store or return. An entry of its own, so that functions that only
 * call a limit do not build them in every run.
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
export const vRateLimitConfig = /* @__PURE__ */ configValidator();
/** The validator of a `RateLimitOverride`. */
export const vRateLimitOverride = /* @__PURE__ */ v.object(/* @__PURE__ */ overrideFields());
/** The validator of a `RateLimitSnapshot`: what `getRateLimit` returns. */
export const vRateLimitSnapshot = /* @__PURE__ */ snapshotValidator();
/** The validator of a `RateLimitStatus`: what `rateLimit` returns. */
export const vRateLimitStatus = /* @__PURE__ */ statusValidator();
/** The validator of a `RateLimitAllStatus`: what `rateLimitAll` returns. */
export const vRateLimitAllStatus = /* @__PURE__ */ allStatusValidator();
/** The validator of a `RateLimitPage`: what `listRateLimits` returns. */
export const vRateLimitPage = /* @__PURE__ */ pageValidator();
/** The validator of a `SweepResult`: what `sweepRateLimits` returns. */
export const vSweepResult = /* @__PURE__ */ sweepResultValidator();
/** The validator of a `RateLimitedJob`, to store one in a document. */
export const vRateLimitedJob = /* @__PURE__ */ jobValidator();
