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
import type * as administration from "../administration.js";
import type * as agent from "../agent.js";
import type * as crons from "../crons.js";
import type * as feedback from "../feedback.js";
import type * as gateway from "../gateway.js";
import type * as http from "../http.js";
import type * as llm from "../llm.js";
import type * as lockouts from "../lockouts.js";
import type * as logins from "../logins.js";
import type * as messages from "../messages.js";
import type * as passwords from "../passwords.js";
import type * as plans from "../plans.js";
import type * as prove_component from "../prove/component.js";
import type * as prove_empty from "../prove/empty.js";
import type * as prove_facts from "../prove/facts.js";
import type * as prove_gate from "../prove/gate.js";
import type * as prove_hits from "../prove/hits.js";
import type * as prove_hot from "../prove/hot.js";
import type * as prove_live from "../prove/live.js";
import type * as prove_official from "../prove/official.js";
import type * as prove_operations from "../prove/operations.js";
import type * as prove_order from "../prove/order.js";
import type * as prove_queues from "../prove/queues.js";
import type * as prove_rows from "../prove/rows.js";
import type * as prove_secret from "../prove/secret.js";
import type * as prove_tables from "../prove/tables.js";
import type * as queues from "../queues.js";
import type * as rateLimits from "../rateLimits.js";
import type * as signUps from "../signUps.js";
import type * as stage_admin from "../stage/admin.js";
import type * as stage_burst from "../stage/burst.js";
import type * as stage_gate from "../stage/gate.js";
import type * as stage_hot from "../stage/hot.js";
import type * as stage_login from "../stage/login.js";
import type * as stage_plans from "../stage/plans.js";
import type * as stage_promises from "../stage/promises.js";
import type * as stage_queue from "../stage/queue.js";
import type * as stage_rollback from "../stage/rollback.js";
import type * as stage_rooms from "../stage/rooms.js";
import type * as stage_runs from "../stage/runs.js";
import type * as stage_several from "../stage/several.js";
import type * as stage_tables from "../stage/tables.js";
import type * as stage_windows from "../stage/windows.js";
import type * as thirdParty from "../thirdParty.js";
import type * as upkeep from "../upkeep.js";
import type * as uploads from "../uploads.js";

import type {
  ApiFromModules,
  FilterApi,
  FunctionReference,
} from "convex/server";

declare const fullApi: ApiFromModules<{
  admin: typeof admin;
  administration: typeof administration;
  agent: typeof agent;
  crons: typeof crons;
  feedback: typeof feedback;
  gateway: typeof gateway;
  http: typeof http;
  llm: typeof llm;
  lockouts: typeof lockouts;
  logins: typeof logins;
  messages: typeof messages;
  passwords: typeof passwords;
  plans: typeof plans;
  "prove/component": typeof prove_component;
  "prove/empty": typeof prove_empty;
  "prove/facts": typeof prove_facts;
  "prove/gate": typeof prove_gate;
  "prove/hits": typeof prove_hits;
  "prove/hot": typeof prove_hot;
  "prove/live": typeof prove_live;
  "prove/official": typeof prove_official;
  "prove/operations": typeof prove_operations;
  "prove/order": typeof prove_order;
  "prove/queues": typeof prove_queues;
  "prove/rows": typeof prove_rows;
  "prove/secret": typeof prove_secret;
  "prove/tables": typeof prove_tables;
  queues: typeof queues;
  rateLimits: typeof rateLimits;
  signUps: typeof signUps;
  "stage/admin": typeof stage_admin;
  "stage/burst": typeof stage_burst;
  "stage/gate": typeof stage_gate;
  "stage/hot": typeof stage_hot;
  "stage/login": typeof stage_login;
  "stage/plans": typeof stage_plans;
  "stage/promises": typeof stage_promises;
  "stage/queue": typeof stage_queue;
  "stage/rollback": typeof stage_rollback;
  "stage/rooms": typeof stage_rooms;
  "stage/runs": typeof stage_runs;
  "stage/several": typeof stage_several;
  "stage/tables": typeof stage_tables;
  "stage/windows": typeof stage_windows;
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
  rateLimiter: import("@convex-dev/rate-limiter/_generated/component.js").ComponentApi<"rateLimiter">;
};
