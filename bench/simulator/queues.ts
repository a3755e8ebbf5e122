/** An app with a limit that has a queue, in either place, and a function for its jobs. */
import { componentsGeneric, defineSchema, internalMutationGeneric, makeFunctionReference } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import * as publicFunctions from "../../convex/public.js";
import * as queueFunctions from "../../convex/queue.js";
import componentSchema from "../../convex/schema.js";
import { rateLimitQueue } from "../../src/client/queue.js";
import { defineRateLimits as defineInComponent } from "../../src/component/index.js";
import { defineRateLimits, type RateLimitConfig } from "../../src/index.js";
import { rateLimitTables } from "../../src/schema/index.js";
import { rateLimitQueueTables } from "../../src/schema/queue.js";
import type { QueueConfig } from "../../src/wire/configs.js";
import type { Component } from "./deployment.js";

export type QueueStatus = { ok: true; job: { name: string; id: string } } | { ok: false; retryAt: number };

/** The functions as they are used here: the simulated ctx has what the library uses of the real one. */
interface Functions {
  enqueueRateLimited: (ctx: unknown, args: unknown, fn: unknown, fnArgs: object) => Promise<QueueStatus>;
  cancelQueued: (ctx: unknown, job: unknown) => Promise<{ canceled: boolean }>;
  getQueued: (ctx: unknown, job: unknown) => Promise<{ ahead: number; isExact: boolean; runAt: number } | null>;
  rateLimit: (ctx: unknown, args: unknown) => Promise<{ ok: boolean; retryAt?: number }>;
  getRateLimit: (ctx: unknown, args: unknown) => Promise<object>;
  adjustRateLimit: (ctx: unknown, args: unknown) => Promise<{ ok: boolean }>;
  resetRateLimit: (ctx: unknown, args: unknown) => Promise<null>;
}

export interface QueueApp extends Functions {
  readonly app: Component;
  /** The address of the worker's runs, and of the jobs. */
  readonly worker: { readonly component: string; readonly module: string };
}

/** What jobs run: nothing, but those that are given it say what they have used. */
export const job = makeFunctionReference<"mutation">("jobs:run");
const jobs = {
  run: internalMutationGeneric({
    handler: async (_ctx, { used }: { used?: number }) => await Promise.resolve(used === undefined ? null : { used }),
  }),
};

const { rateLimits: component } = componentsGeneric() as unknown as { rateLimits: ComponentApi };

/** The limit is called "llm". */
export function queueApp(place: "tables" | "component", config: RateLimitConfig, queue: QueueConfig): QueueApp {
  const limits = { llm: { ...config, queue } };
  if (place === "component") {
    const rateLimits = { schema: componentSchema, modules: { public: publicFunctions, queue: queueFunctions } };
    const functions = rateLimitQueue(defineInComponent(limits, { component })) as unknown as Functions;
    const worker = { component: "rateLimits", module: "queue" };
    return { ...functions, worker, app: { modules: { jobs }, children: { rateLimits } } };
  }
  const functions = rateLimitQueue(defineRateLimits(limits, { queueModule: "limits" }));
  const modules = { jobs, limits: functions.exposeQueueWorker() };
  return {
    ...(functions as unknown as Functions),
    worker: { component: "", module: "limits" },
    app: { schema: defineSchema({ ...rateLimitTables, ...rateLimitQueueTables }), modules },
  };
}
