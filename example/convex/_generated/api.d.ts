/* eslint-disable */
/**
 * Generated `api` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */

import type * as admin from "../admin.js";
import type * as apiKeys from "../apiKeys.js";
import type * as callers from "../callers.js";
import type * as crons from "../crons.js";
import type * as http from "../http.js";
import type * as limits from "../limits.js";
import type * as llm from "../llm.js";
import type * as logins from "../logins.js";
import type * as messages from "../messages.js";
import type * as model from "../model.js";
import type * as passwords from "../passwords.js";

import type {
  ApiFromModules,
  FilterApi,
  FunctionReference,
} from "convex/server";

declare const fullApi: ApiFromModules<{
  admin: typeof admin;
  apiKeys: typeof apiKeys;
  callers: typeof callers;
  crons: typeof crons;
  http: typeof http;
  limits: typeof limits;
  llm: typeof llm;
  logins: typeof logins;
  messages: typeof messages;
  model: typeof model;
  passwords: typeof passwords;
}>;

/**
 * A utility for referencing Convex functions in your app's public API.
 *
 * Usage:
 * ```js
 * const myFunctionReference = api.myModule.myFunction;
 * ```
 */
export declare const api: FilterApi<
  typeof fullApi,
  FunctionReference<any, "public">
>;

/**
 * A utility for referencing Convex functions in your app's internal API.
 *
 * Usage:
 * ```js
 * const myFunctionReference = internal.myModule.myFunction;
 * ```
 */
export declare const internal: FilterApi<
  typeof fullApi,
  FunctionReference<any, "internal">
>;

export declare const components: {
  rateLimits: import("convex-rate-limits/_generated/component.js").ComponentApi<"rateLimits">;
};
