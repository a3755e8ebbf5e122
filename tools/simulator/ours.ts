/** This package as its users call it, in the app's tables or in the component. */
import { componentsGeneric, defineSchema } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import * as publicFunctions from "../../convex/public.js";
import componentSchema from "../../convex/schema.js";
import { defineRateLimits as defineInComponent } from "../../src/client/component.js";
import { defineRateLimits, type RateLimitConfig } from "../../src/index.js";
import { rateLimitTables } from "../../src/storage/schema.js";
import type { Component } from "./deployment.js";
import { COLD_LIMIT, coldNames, type Consume, type Design, type LimitOptions, type Shards } from "./design.js";
import type { BucketConfig } from "./oracle.js";

export type PlaceName = "tables" | "component";

const { rateLimits: component } = componentsGeneric() as unknown as { rateLimits: ComponentApi };

const apps: Record<PlaceName, Component> = {
  tables: { schema: defineSchema(rateLimitTables) },
  component: { children: { rateLimits: { schema: componentSchema, modules: { public: publicFunctions } } } },
};

export function ours(shards: Shards, place: PlaceName = "tables"): Design {
  return {
    label: `ours ${shards}${place === "component" ? " (component)" : ""}`,
    library: "ours",
    shards,
    app: apps[place],
    limit: (config, shards, options) => consumeIn(place, configOf(config, shards), options),
  };
}

function configOf({ kind, start, ...config }: BucketConfig, shards: Shards): RateLimitConfig {
  const { rate, period } = config;
  if (kind === "sliding window") return { kind, rate, period, shards };
  if (kind === "token bucket") return { kind, ...config, shards };
  return { kind, ...config, shards, ...(start === undefined ? {} : { start }) };
}

function consumeIn(place: PlaceName, config: RateLimitConfig, options: LimitOptions): Consume {
  const { keyed, bundleOf } = options;
  const cold = coldNames(options);
  const limits = {
    hot: { ...config, keyed },
    ...Object.fromEntries(cold.map((name) => [name, { ...COLD_LIMIT, keyed: true }])),
  };
  // The simulated ctx has only what the library uses of the real one, and the types demand much more.
  const { rateLimit, rateLimitAll } = (place === "tables"
    ? defineRateLimits(limits)
    : defineInComponent(limits, { component })) as unknown as Functions;
  if (bundleOf > 1) {
    return async (ctx, { user, ...hot }) =>
      answer(await rateLimitAll(ctx, [...cold.map((name) => ({ name, key: user })), { name: "hot", ...hot }]));
  }
  return async (ctx, { key, count, reserve }) => answer(await rateLimit(ctx, { name: "hot", key, count, reserve }));
}

/** The functions that are used here. Their types do not name the limits, whose names are not known before the run. */
interface Functions {
  rateLimit: (ctx: unknown, args: unknown) => Promise<Status>;
  rateLimitAll: (ctx: unknown, requests: readonly unknown[]) => Promise<Status>;
}

type Status = { ok: boolean; retryAt?: number | undefined };

function answer({ ok, retryAt }: Status) {
  return { ok, retryAt };
}
