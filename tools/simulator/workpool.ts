/** @convex-dev/workpool as its users call it. This is the published code, including the component and its worker. */
import { Workpool } from "@convex-dev/workpool";
import { componentsGeneric, type FunctionReference } from "convex/server";
import * as complete from "../../node_modules/@convex-dev/workpool/dist/component/complete.js";
import * as lib from "../../node_modules/@convex-dev/workpool/dist/component/lib.js";
import * as loop from "../../node_modules/@convex-dev/workpool/dist/component/loop.js";
import * as recovery from "../../node_modules/@convex-dev/workpool/dist/component/recovery.js";
import schema from "../../node_modules/@convex-dev/workpool/dist/component/schema.js";
import * as stats from "../../node_modules/@convex-dev/workpool/dist/component/stats.js";
import * as worker from "../../node_modules/@convex-dev/workpool/dist/component/worker.js";
import type { SimulatedCtx } from "./context.js";
import type { Component } from "./deployment.js";
import { batchWorker } from "./peer.js";
import { jobs } from "./queues.js";

const { workpool: component } = componentsGeneric() as unknown as {
  workpool: ConstructorParameters<typeof Workpool>[0];
};

export interface PoolApp {
  readonly app: Component;
  readonly enqueue: (ctx: SimulatedCtx, fn: FunctionReference<"mutation">, args: object) => Promise<unknown>;
}

/** @param maxParallelism - the number of jobs that run at once. A pool has no rate. */
export function poolApp(maxParallelism: number): PoolApp {
  const pool = new Workpool(component, { maxParallelism, logLevel: "ERROR" });
  const modules = { complete, lib, loop, recovery, stats, worker };
  return {
    app: { modules: { jobs }, children: { workpool: { schema, modules, children: { batchWorker } } } },
    enqueue: async (ctx, fn, args) => await pool.enqueueMutation(ctx as never, fn, args),
  };
}
