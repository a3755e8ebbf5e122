/** An app with a limit that has a queue, in its tables or in the component, and with a function for its jobs. */
import { componentsGeneric, defineSchema, internalMutationGeneric, makeFunctionReference } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import { rateLimitLive } from "../../src/client/live.js";
import { rateLimitQueue } from "../../src/client/queue.js";
import { defineRateLimits as defineInComponent } from "../../src/client/component.js";
import { rateLimitQueue as rateLimitQueueInComponent } from "../../src/client/componentQueue.js";
import { defineRateLimits } from "../../src/index.js";
import { rateLimitTables } from "../../src/storage/schema.js";
import { rateLimitQueueTables } from "../../src/storage/queueSchema.js";
import type { QueueConfig, RateLimitConfig } from "../../src/wire/configs.js";
import { rateLimits } from "./component.js";
import { SimulatedCtx } from "./context.js";
import type { Component } from "./deployment.js";

type QueueStatus = { ok: true; job: { name: string; id: string } } | { ok: false; retryAt: number };

/** The functions that are used here. They take the simulated ctx, which has only what the library uses of the real one. */
interface Functions {
  enqueueRateLimited: (ctx: unknown, args: unknown, fn: unknown, fnArgs: object) => Promise<QueueStatus>;
  cancelQueued: (ctx: unknown, job: unknown) => Promise<{ canceled: boolean }>;
  getQueued: (ctx: unknown, job: unknown) => Promise<{ ahead?: number; startsAt?: number } | null>;
  rateLimit: (ctx: unknown, args: unknown) => Promise<{ ok: boolean; retryAt?: number }>;
  getRateLimit: (ctx: unknown, args: unknown) => Promise<object>;
  adjustRateLimit: (ctx: unknown, args: unknown) => Promise<{ ok: boolean }>;
  pauseRateLimit: (ctx: unknown, args: unknown) => Promise<null>;
  resetRateLimit: (ctx: unknown, args: unknown) => Promise<null>;
}

export interface QueueApp extends Functions {
  readonly app: Component;
  /** `ctx.db` of the place, to change rows by hand. */
  readonly rowsOf: (ctx: SimulatedCtx) => SimulatedCtx["db"];
  /** The component and the module of the worker. */
  readonly worker: { readonly component: string; readonly module: string };
}

/** The function that jobs run. It does nothing but return `used`, if it is given, and ask to run again until `againUntil`. */
export const job = makeFunctionReference<"mutation">("jobs:run");
export const jobs = {
  run: internalMutationGeneric({
    handler: async (_ctx, { used, againUntil = 0 }: { used?: number; againUntil?: number }) =>
      await Promise.resolve(used === undefined ? null : { used, again: Date.now() < againUntil }),
  }),
};

const { rateLimits: component } = componentsGeneric() as unknown as { rateLimits: ComponentApi };

/** Builds the app. Its limit is called "llm", and one that its queue also takes from "second". */
export function queueApp(
  place: "tables" | "component",
  config: Exclude<RateLimitConfig, { kind: "concurrency" }>,
  queue: QueueConfig<"second">,
  second?: RateLimitConfig,
): QueueApp {
  const limits = { llm: { ...config, queue }, ...(second && { second }) } as unknown as { llm: RateLimitConfig };
  if (place === "component") {
    const defined = defineInComponent(limits, { component });
    const functions = {
      ...defined,
      ...rateLimitLive(defined),
      ...rateLimitQueueInComponent(defined),
    } as unknown as Functions;
    const worker = { component: "rateLimits", module: "worker" };
    const rowsOf: QueueApp["rowsOf"] = ({ execution }) => new SimulatedCtx(execution, "rateLimits", "mutation").db;
    return { ...functions, worker, rowsOf, app: { modules: { jobs }, children: { rateLimits } } };
  }
  const defined = defineRateLimits(limits, { queueModule: "limits" });
  const functions = { ...defined, ...rateLimitLive(defined), ...rateLimitQueue(defined) };
  const modules = { jobs, limits: functions.exposeQueueWorker() };
  return {
    ...(functions as unknown as Functions),
    worker: { component: "", module: "limits" },
    rowsOf: ({ db }) => db,
    app: { schema: defineSchema({ ...rateLimitTables, ...rateLimitQueueTables }), modules },
  };
}
