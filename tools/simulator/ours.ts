/** This package as its users call it, in the app's tables or in the component. */
import { componentsGeneric, defineSchema } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import { rateLimitAdmin } from "../../src/client/admin.js";
import { defineRateLimits as defineInComponent } from "../../src/client/component.js";
import { defineRateLimits, type RateLimitConfig } from "../../src/index.js";
import { rateLimitTables } from "../../src/storage/schema.js";
import { rateLimits } from "./component.js";
import type { Component } from "./deployment.js";
import * as design from "./design.js";
import type { Ask, Consume, Design, LimitOptions, Operate, Shards } from "./design.js";
import type { BucketConfig } from "./oracle.js";

export type PlaceName = "tables" | "component";

const { rateLimits: component } = componentsGeneric() as unknown as { rateLimits: ComponentApi };

const apps: Record<PlaceName, Component> = {
  tables: { schema: defineSchema(rateLimitTables) },
  component: { children: { rateLimits } },
};

export function ours(shards: Shards, place: PlaceName = "tables"): Design {
  return {
    label: `ours ${shards}${place === "component" ? " (component)" : ""}`,
    library: "ours",
    shards,
    app: apps[place],
    limit: (config, shards, options) => consumeIn(define(place, configOf(config, shards), options), options),
    operate: (config, shards, options) => {
      const functions = define(place, configOf(config, shards), options);
      return operateWith(functions, consumeIn(functions, options));
    },
  };
}

function configOf({ kind, start, ...config }: BucketConfig, shards: Shards): RateLimitConfig {
  const { rate, period } = config;
  if (kind === "sliding window") return { kind, rate, period, shards };
  if (kind === "token bucket") return { kind, ...config, shards };
  return { kind, ...config, shards, ...(start === undefined ? {} : { start }) };
}

function define(place: PlaceName, config: RateLimitConfig, options: LimitOptions): Functions {
  const { keyed, plans } = options;
  const planned = plans?.map(({ rate, capacity }, i) => [planName(i), { rate, capacity }] as const);
  // The types of definitions need to know whether there are plans.
  const more: object = planned ? { plans: Object.fromEntries(planned) } : {};
  const limits = {
    hot: { ...config, keyed, ...more },
    ...Object.fromEntries(design.coldNames(options).map((name) => [name, { ...design.COLD_LIMIT, keyed: true }])),
  };
  const defined = place === "tables" ? defineRateLimits(limits) : defineInComponent(limits, { component });
  // The simulated ctx has only what the library uses of the real one, and the types demand much more.
  return { ...defined, ...rateLimitAdmin(defined) } as unknown as Functions;
}

const planName = (plan: number) => `plan ${plan + 1}`;

function consumeIn({ rateLimit, rateLimitAll, checkRateLimit }: Functions, options: LimitOptions): Consume {
  const cold = design.coldNames(options);
  const argsOf = ({ key, count, reserve, refundable, plan }: Ask) => ({
    name: "hot",
    key,
    count,
    reserve,
    ...(refundable && { refundable }),
    ...(plan !== undefined && { plan: planName(plan) }),
  });
  if (cold.length > 0) {
    return async (ctx, { user, ...hot }) =>
      answer(await rateLimitAll(ctx, [...cold.map((name) => ({ name, key: user })), argsOf(hot)]));
  }
  return async (ctx, ask) => {
    if (ask.checks) {
      const checked = await checkRateLimit(ctx, argsOf(ask));
      if (!checked.ok) return answer(checked);
    }
    return answer(await rateLimit(ctx, argsOf(ask)));
  };
}

function operateWith(functions: Functions, consume: Consume): Operate {
  const name = "hot";
  return async (ctx, operation) => {
    switch (operation.kind) {
      case "take":
        return await consume(ctx, operation.ask);
      case "pause":
        return await functions.pauseRateLimit(ctx, { name, until: operation.until });
      case "adjust": {
        const { count, takenAt } = operation;
        return await functions.adjustRateLimit(ctx, { name, count, ...(takenAt !== undefined && { takenAt }) });
      }
      case "override":
        return await functions.overrideRateLimit(ctx, { name, ...operation.way });
      case "clear override":
        return await functions.clearRateLimitOverride(ctx, { name });
      case "reset":
        return await functions.resetRateLimit(ctx, { name });
    }
  };
}

type Call<Result> = (ctx: unknown, args: unknown) => Promise<Result>;

/** The functions that are used here. Their types do not name the limits, whose names are not known before the run. */
interface Functions {
  readonly rateLimit: Call<Status>;
  readonly rateLimitAll: Call<Status>;
  readonly checkRateLimit: Call<Status>;
  readonly pauseRateLimit: Call<null>;
  readonly adjustRateLimit: Call<Status>;
  readonly overrideRateLimit: Call<null>;
  readonly clearRateLimitOverride: Call<null>;
  readonly resetRateLimit: Call<null>;
}

type Status = { ok: boolean; retryAt?: number | undefined; takenAt?: number | undefined };

function answer({ ok, retryAt, takenAt }: Status) {
  return { ok, retryAt, ...(takenAt !== undefined && { takenAt }) };
}
