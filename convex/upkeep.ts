/** What administrators call besides sweep.ts: listing keys, and overriding their limits. The wire is not trusted. */
import { v } from "convex/values";
import * as listing from "../src/operations/list.js";
import * as overriding from "../src/operations/override.js";
import * as wire from "../src/wire/answers.js";
import { functionOf } from "../src/wire/functionOf.js";
import { mutation, query } from "./_generated/server.js";

export const override = mutation(
  functionOf(wire.overrideArgs, v.null, (ctx, { name, key, ...override }) =>
    overriding.setOverride(ctx, { name, key }, override),
  ),
);

export const clearOverride = mutation(
  functionOf(wire.bucketArgs, v.null, (ctx, args) => overriding.clearOverride(ctx, args)),
);

export const list = query(
  functionOf(wire.listArgs, wire.pageValidator, (ctx, { name, config, plans, overrides, ...options }) =>
    listing.list(ctx, listing.parseList({ name, config, plans, overrides }, options)),
  ),
);
