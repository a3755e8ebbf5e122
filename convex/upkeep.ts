/** What administrators call besides sweep.ts: listing keys, and overriding their limits. The wire is not trusted. */
import { v } from "convex/values";
import * as listing from "../src/operations/list.js";
import * as overriding from "../src/operations/override.js";
import * as wire from "../src/wire/answers.js";
import { mutation, query } from "./_generated/server.js";

export const override = mutation({
  get args() {
    return wire.overrideArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, { name, key, ...override }) => overriding.setOverride(ctx, { name, key }, override),
});

export const clearOverride = mutation({
  get args() {
    return wire.bucketArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, args) => overriding.clearOverride(ctx, args),
});

export const list = query({
  get args() {
    return wire.listArgs();
  },
  get returns() {
    return wire.pageValidator();
  },
  handler: (ctx, { name, config, plans, ...options }) =>
    listing.list(ctx, listing.parseList({ name, config, plans }, options)),
});
