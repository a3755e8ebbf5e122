/** An app with a limit that has a queue, in its tables or in the component, and with a function for its jobs. */
import { componentsGeneric, defineSchema, internalMutationGeneric, makeFunctionReference } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import { rateLimitAdmin } from "../../src/client/admin.js";
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
  sweepRateLimits: (ctx: unknown, args: object) => Promise<object>;
}

export interface QueueApp extends Functions {
  readonly app: Component;
  /** `ctx.db` of the place, to change rows by hand. */
  readonly rowsOf: (ctx: SimulatedCtx) => SimulatedCtx["db"];
  /** The component and the module of the worker. */
  readonly worker: { readonly component: string; readonly module: string };
  /** Deploys the app with a queue of other terms. */
  readonly deploy: (queue: QueueConfig<"second">) => void;
}

/** What a job returns: `used`, if given. Until `againUntil` also that it must run again, `after` ms later if that is given. */
interface Returned {
  used?: number;
  againUntil?: number;
  after?: number;
}

/** The function that jobs run, which does nothing but return; and the one that hears of dropped jobs. */
export const job = makeFunctionReference<"mutation">("jobs:run");
export const dropped = makeFunctionReference<"mutation">("jobs:dropped");
export const jobs = {
  run: internalMutationGeneric({
    handler: async (_ctx, args) => {
      const { used, againUntil = 0, after } = args as Returned;
      const again = Date.now() < againUntil && (after === undefined || { after });
      return await Promise.resolve(used === undefined ? null : { used, again });
    },
  }),
  dropped: internalMutationGeneric({ handler: async () => await Promise.resolve(null) }),
};

/** The function that sweeps, batch by batch. */
export const sweepFunction = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");

const { rateLimits: component } = componentsGeneric() as unknown as { rateLimits: ComponentApi };

/** Builds the app. Its limit is called "llm", and one that its queue also takes from "second". */
export function queueApp(
  place: "tables" | "component",
  config: Exclude<RateLimitConfig, { kind: "concurrency" }>,
  queue: QueueConfig<"second">,
  second?: RateLimitConfig,
): QueueApp {
  const sweep = internalMutationGeneric({
    handler: async (ctx, args) => await app.sweepRateLimits(ctx, { ...args, next: sweepFunction }),
  });
  const modules: Record<string, object> = { jobs, sweeps: { sweep } };
  const functionsOf = (queue: QueueConfig<"second">): Functions => {
    const limits = { llm: { ...config, queue }, ...(second && { second }) } as unknown as { llm: RateLimitConfig };
    if (place === "component") {
      const defined = defineInComponent(limits, { component });
      const queues = rateLimitQueueInComponent(defined);
      return { ...defined, ...rateLimitAdmin(defined), ...rateLimitLive(defined), ...queues } as unknown as Functions;
    }
    const defined = defineRateLimits(limits, { queueModule: "limits" });
    const queues = rateLimitQueue(defined);
    modules["limits"] = queues.exposeQueueWorker();
    return { ...defined, ...rateLimitAdmin(defined), ...rateLimitLive(defined), ...queues } as unknown as Functions;
  };
  const schema = defineSchema({ ...rateLimitTables, ...rateLimitQueueTables });
  const app: QueueApp = {
    ...functionsOf(queue),
    deploy: (next) => Object.assign(app, functionsOf(next)),
    ...(place === "component"
      ? {
          worker: { component: "rateLimits", module: "worker" },
          rowsOf: ({ execution }) => new SimulatedCtx(execution, "rateLimits", "mutation").db,
          app: { modules, children: { rateLimits } },
        }
      : { worker: { component: "", module: "limits" }, rowsOf: ({ db }) => db, app: { schema, modules } }),
  };
  return app;
}
