/**
 * The operations of src/, run on the component's own tables. The wire is not trusted: arguments are parsed again. Validators are getters,
 * since Convex reads them at a deploy, and evaluates this module in every run.
 */
import { v } from "convex/values";
import { bundle } from "../src/engine/bundle.js";
import { parseLimit } from "../src/engine/limit.js";
import { adjustmentOf } from "../src/engine/adjustment.js";
import { parseBucket, parseRequest } from "../src/engine/request.js";
import * as adjusting from "../src/operations/adjust.js";
import * as all from "../src/operations/all.js";
import * as consuming from "../src/operations/consume.js";
import * as listing from "../src/operations/list.js";
import * as overriding from "../src/operations/override.js";
import { inQueue, wake } from "../src/queue/wake.js";
import * as wire from "../src/wire/answers.js";
import { snapshotValidator } from "../src/wire/snapshots.js";
import { mutation, query } from "./_generated/server.js";

export const consume = mutation({
  get args() {
    return wire.demandArgs();
  },
  get returns() {
    return wire.statusValidator();
  },
  handler: (ctx, args) => consuming.consume(ctx, parseRequest(args)),
});

export const check = query({
  get args() {
    return wire.demandArgs();
  },
  get returns() {
    return wire.statusValidator();
  },
  handler: (ctx, args) => consuming.check(ctx, parseRequest(args)),
});

export const consumeAll = mutation({
  get args() {
    return wire.allArgs();
  },
  get returns() {
    return wire.allStatusValidator();
  },
  handler: (ctx, { requests }) => all.consumeAll(ctx, bundle(requests.map(parseRequest))),
});

export const checkAll = query({
  get args() {
    return wire.allArgs();
  },
  get returns() {
    return wire.allStatusValidator();
  },
  handler: (ctx, { requests }) => all.checkAll(ctx, bundle(requests.map(parseRequest))),
});

export const adjust = mutation({
  get args() {
    return wire.adjustArgs();
  },
  get returns() {
    return wire.statusValidator();
  },
  handler: (ctx, args) => adjusting.adjust(ctx, adjustmentOf(parseBucket(args), args)),
});

export const adjustAll = mutation({
  get args() {
    return wire.adjustAllArgs();
  },
  get returns() {
    return v.array(wire.statusValidator());
  },
  handler: async (ctx, { adjustments }) => {
    const all = adjustments.map((args) => adjustmentOf(parseBucket(args), args));
    const statuses = await adjusting.adjustAll(ctx, all);
    for (const args of adjustments) if (args.count < 0) await wake(inQueue(ctx, "queue"), args);
    return statuses;
  },
});

export const get = query({
  get args() {
    return wire.getArgs();
  },
  get returns() {
    return snapshotValidator();
  },
  handler: (ctx, args) => consuming.get(ctx, parseBucket(args)),
});

export const pause = mutation({
  get args() {
    return wire.pauseArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, args) => adjusting.pause(ctx, { ...parseBucket(args), until: args.until }),
});

export const reset = mutation({
  get args() {
    return wire.bucketArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, args) => adjusting.reset(ctx, args),
});

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
  handler: (ctx, { name, config, plans, overrides, ...options }) =>
    listing.list(ctx, listing.parseList({ limit: parseLimit(name, config), plans, isOverridable: overrides }, options)),
});
