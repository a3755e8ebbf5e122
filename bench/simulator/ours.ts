/** This package, in either home, as its users call it. */
import { componentsGeneric, defineSchema } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import * as publicFunctions from "../../convex/public.js";
import componentSchema from "../../convex/schema.js";
import { defineRateLimits, type RateLimitConfig, rateLimitTables } from "../../src/index.js";
import type { Component } from "./deployment.js";
import type { Consume, Design, Shards } from "./design.js";
import type { BucketConfig } from "./oracle.js";

export type PlaceName = "tables" | "component";

const { rateLimits: component } = componentsGeneric() as unknown as { rateLimits: ComponentApi };

const apps: Record<PlaceName, Component> = {
  tables: { schema: defineSchema(rateLimitTables) },
  component: { children: { rateLimits: { schema: componentSchema, modules: { public: publicFunctions } } } },
};

export function ours(shards: Shards, home: PlaceName = "tables"): Design {
  return {
    label: `ours ${shards}${home === "component" ? " (component)" : ""}`,
    library: "ours",
    shards,
    app: apps[home],
    limit: (config, shards) => consumeIn(home, configOf(config, shards)),
  };
}

function configOf({ kind, start, ...config }: BucketConfig, shards: Shards): RateLimitConfig {
  if (kind === "token bucket") return { kind, ...config, shards };
  return { kind, ...config, shards, ...(start === undefined ? {} : { start }) };
}

function consumeIn(home: PlaceName, config: RateLimitConfig): Consume {
  const limits = { hot: config };
  // The simulated ctx has what the library uses of the real one; the types promise much more.
  if (home === "tables") {
    const { rateLimit } = defineRateLimits(limits);
    return async (ctx, ask) => answer(await rateLimit(ctx as never, { name: "hot", ...ask }));
  }
  const { rateLimit } = defineRateLimits(limits, { component });
  return async (ctx, ask) => answer(await rateLimit(ctx as never, { name: "hot", ...ask }));
}

function answer({ ok, retryAt }: { ok: boolean; retryAt?: number | undefined }) {
  return { ok, retryAt };
}
