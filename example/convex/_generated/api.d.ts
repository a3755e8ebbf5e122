/* eslint-disable */
/**
 * Generated `api` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */

import type * as agent from "../agent.js";
import type * as crons from "../crons.js";
import type * as feedback from "../feedback.js";
import type * as gateway from "../gateway.js";
import type * as http from "../http.js";
import type * as llm from "../llm.js";
import type * as logins from "../logins.js";
import type * as messages from "../messages.js";
import type * as passwords from "../passwords.js";
import type * as plans from "../plans.js";
import type * as playground from "../playground.js";
import type * as playgroundTables from "../playgroundTables.js";
import type * as rateLimits from "../rateLimits.js";
import type * as signUps from "../signUps.js";
import type * as thirdParty from "../thirdParty.js";
import type * as upkeep from "../upkeep.js";
import type * as uploads from "../uploads.js";

import type {
  ApiFromModules,
  FilterApi,
  FunctionReference,
} from "convex/server";

declare const fullApi: ApiFromModules<{
  agent: typeof agent;
  crons: typeof crons;
  feedback: typeof feedback;
  gateway: typeof gateway;
  http: typeof http;
  llm: typeof llm;
  logins: typeof logins;
  messages: typeof messages;
  passwords: typeof passwords;
  plans: typeof plans;
  playground: typeof playground;
  playgroundTables: typeof playgroundTables;
  rateLimits: typeof rateLimits;
  signUps: typeof signUps;
  thirdParty: typeof thirdParty;
  upkeep: typeof upkeep;
  uploads: typeof uploads;
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
