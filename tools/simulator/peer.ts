/** The peer: @convex-dev/rate-limiter as its users call it. This is the published code, including the component and its worker. */
import { componentsGeneric } from "convex/server";
import { RateLimiter } from "@convex-dev/rate-limiter";
import * as workerKick from "../../node_modules/@convex-dev/batch-worker/dist/component/lib.js";
import * as workerLoop from "../../node_modules/@convex-dev/batch-worker/dist/component/loop.js";
import * as workerMonitor from "../../node_modules/@convex-dev/batch-worker/dist/component/monitor.js";
import workerSchema from "../../node_modules/@convex-dev/batch-worker/dist/component/schema.js";
import * as lib from "../../node_modules/@convex-dev/rate-limiter/dist/component/lib.js";
import schema from "../../node_modules/@convex-dev/rate-limiter/dist/component/schema.js";
import * as worker from "../../node_modules/@convex-dev/rate-limiter/dist/component/worker.js";
import type { Component } from "./deployment.js";
import { COLD_LIMIT, coldNames, type Consume, type Design, type LimitOptions } from "./design.js";
import type { BucketConfig } from "./oracle.js";

const { rateLimiter: component } = componentsGeneric() as unknown as {
  rateLimiter: ConstructorParameters<typeof RateLimiter>[0];
};

export const batchWorker: Component = {
  schema: workerSchema,
  modules: { lib: workerKick, loop: workerLoop, monitor: workerMonitor },
};
const app: Component = {
  children: { rateLimiter: { schema, modules: { lib, worker }, children: { batchWorker } } },
};

export function peer(shards: number): Design {
  return {
    label: `official ${shards}`,
    library: "peer",
    shards,
    app,
    limit: (config, shards, options) => {
      if (shards === "auto") throw new Error("The official component has no automatic number of shards.");
      return consume(config, { shards }, options);
    },
  };
}

/** The asynchronous mode of the peer: it decides on a stale read, and a worker takes the tokens later. */
export function peerAsynchronous(): Design {
  return {
    label: "official async",
    library: "peer",
    shards: 1,
    app,
    limit: (config, _shards, options) => consume(config, { applyUpdates: "asynchronously" }, options),
  };
}

type Mode = { shards: number } | { applyUpdates: "asynchronously" };

function consume({ kind, start, ...config }: BucketConfig, mode: Mode, options: LimitOptions): Consume {
  if (kind === "sliding window") throw new Error("The official component has no sliding window.");
  const windows = start === undefined ? {} : { start };
  const cold = coldNames(options);
  const limiter = new RateLimiter(component, {
    ...Object.fromEntries(cold.map((name) => [name, COLD_LIMIT])),
    hot: kind === "token bucket" ? { kind, ...config, ...mode } : { kind, ...config, ...windows, ...mode },
  });
  return async (ctx, { key, count, reserve, user }) => {
    // The peer has no call for several limits, so they are called one after another until one denies.
    for (const name of cold) {
      const { ok, retryAfter } = await limiter.limit(ctx as never, name as "hot", { key: user ?? "nobody" });
      if (!ok) return { ok, retryAt: Math.ceil(Date.now() + retryAfter) };
    }
    const options = { count, ...(key === undefined ? {} : { key }), ...(reserve === undefined ? {} : { reserve }) };
    const { ok, retryAfter } = await limiter.limit(ctx as never, "hot", options);
    // `retryAfter` has fractions, and a caller can only wait for whole milliseconds.
    return { ok, retryAt: retryAfter === undefined ? undefined : Math.ceil(Date.now() + retryAfter) };
  };
}
