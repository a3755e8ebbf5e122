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
import {
  COLD_LIMIT,
  coldNames,
  type Consume,
  type Design,
  type LimitOptions,
  type Operate,
  type Shards,
} from "./design.js";
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
    limit: (config, shards, options) => consume(config, modeOf(shards), options),
    operate: (config, shards, options) => operate(config, modeOf(shards), options),
  };
}

/** The asynchronous mode of the peer: it decides on a stale read, and a worker takes the tokens later. */
export function peerAsynchronous(): Design {
  return {
    label: "official async",
    library: "peer",
    shards: 1,
    app,
    limit: (config, _shards, options) => consume(config, ASYNCHRONOUS, options),
    operate: (config, _shards, options) => operate(config, ASYNCHRONOUS, options),
  };
}

type Mode = { shards: number } | { applyUpdates: "asynchronously" };
const ASYNCHRONOUS: Mode = { applyUpdates: "asynchronously" };

function modeOf(shards: Shards): Mode {
  if (shards === "auto") throw new Error("The official component has no automatic number of shards.");
  return { shards };
}

function configOf({ kind, start, ...config }: BucketConfig, mode: Mode) {
  if (kind === "sliding window") throw new Error("The official component has no sliding window.");
  const windows = start === undefined ? {} : { start };
  return kind === "token bucket" ? { kind, ...config, ...mode } : { kind, ...config, ...windows, ...mode };
}

function limiterOf(config: BucketConfig, mode: Mode, options: LimitOptions) {
  return new RateLimiter(component, {
    ...Object.fromEntries(coldNames(options).map((name) => [name, COLD_LIMIT])),
    hot: configOf(config, mode),
  });
}

function consume(config: BucketConfig, mode: Mode, options: LimitOptions): Consume {
  const cold = coldNames(options);
  const limiter = limiterOf(config, mode, options);
  // It has no plans, so each call passes the config of its plan.
  const plans = options.plans?.map((plan) => configOf(plan, mode));
  return async (ctx, { key, count, reserve, user, plan, checks }) => {
    // The peer has no call for several limits, so they are called one after another until one denies.
    for (const name of cold) {
      const { ok, retryAfter } = await limiter.limit(ctx as never, name as "hot", { key: user ?? "nobody" });
      if (!ok) return { ok, retryAt: Math.ceil(Date.now() + retryAfter) };
    }
    const args = {
      count,
      ...(key === undefined ? {} : { key }),
      ...(reserve === undefined ? {} : { reserve }),
      ...(plan === undefined ? {} : { config: plans?.[plan] }),
    };
    const checked = checks ? await limiter.check(ctx as never, "hot", args) : undefined;
    const { ok, retryAfter } = checked?.ok === false ? checked : await limiter.limit(ctx as never, "hot", args);
    // `retryAfter` has fractions, and a caller can only wait for whole milliseconds.
    return { ok, retryAt: retryAfter === undefined ? undefined : Math.ceil(Date.now() + retryAfter) };
  };
}

function operate(config: BucketConfig, mode: Mode, options: LimitOptions): Operate {
  const take = consume(config, mode, options);
  const limiter = limiterOf(config, mode, options);
  return async (ctx, operation) => {
    if (operation.kind === "take") return await take(ctx, operation.ask);
    if (operation.kind === "reset") {
      await limiter.reset(ctx as never, "hot");
      return null;
    }
    throw new Error(`The official component has no operation "${operation.kind}".`);
  };
}
