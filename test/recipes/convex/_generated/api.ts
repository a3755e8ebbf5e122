import type { ComponentApi as AgentApi } from "@convex-dev/agent/_generated/component.js";
import type { ComponentApi as ResendApi } from "@convex-dev/resend/_generated/component.js";
import type { ComponentApi as ShardedCounterApi } from "@convex-dev/sharded-counter/_generated/component.js";
import type { ComponentApi as WorkflowApi } from "@convex-dev/workflow/_generated/component.js";
import type { ComponentApi as WorkpoolApi } from "@convex-dev/workpool/_generated/component.js";
import { anyApi, type ApiFromModules, componentsGeneric, type FilterApi, type FunctionReference } from "convex/server";
import type { ComponentApi as RateLimitsApi } from "../../../../convex/_generated/component.js";
import type * as anonymous from "../anonymous.js";
import type * as geocoder from "../geocoder.js";
import type * as images from "../images.js";
import type * as lockouts from "../lockouts.js";
import type * as logged from "../logged.js";
import type * as logins from "../logins.js";
import type * as notes from "../notes.js";
import type * as partner from "../partner.js";
import type * as reports from "../reports.js";

import type * as assistant from "../assistant.js";
import type * as auth from "../auth.js";
import type * as denials from "../denials.js";
import type * as digest from "../digest.js";
import type * as mail from "../mail.js";
import type * as transcripts from "../transcripts.js";
type Modules = ApiFromModules<{
  anonymous: typeof anonymous;
  geocoder: typeof geocoder;
  images: typeof images;
  lockouts: typeof lockouts;
  logged: typeof logged;
  logins: typeof logins;
  notes: typeof notes;
  partner: typeof partner;
  assistant: typeof assistant;
  auth: typeof auth;
  denials: typeof denials;
  digest: typeof digest;
  mail: typeof mail;
  transcripts: typeof transcripts;
  reports: typeof reports;
}>;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const api: FilterApi<Modules, FunctionReference<any, "public">> = anyApi as never;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const internal: FilterApi<Modules, FunctionReference<any, "internal">> = anyApi as never;
export const components = componentsGeneric() as unknown as {
  agent: AgentApi<"agent">;
  resend: ResendApi<"resend">;
  shardedCounter: ShardedCounterApi<"shardedCounter">;
  rateLimits: RateLimitsApi<"rateLimits">;
  workflow: WorkflowApi<"workflow">;
  workpool: WorkpoolApi<"workpool">;
};
