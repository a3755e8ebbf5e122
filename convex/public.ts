/** The operations of src/, run on the component's own tables. The wire is not trusted: arguments are parsed again. */
import { v } from "convex/values";
import { bundle } from "../src/engine/bundle.js";
import { parseLimit } from "../src/engine/limit.js";
import { adjustmentOf, parseBucket, parseRequest } from "../src/engine/request.js";
import * as adjusting from "../src/operations/adjust.js";
import * as all from "../src/operations/all.js";
import * as consuming from "../src/operations/consume.js";
import * as listing from "../src/operations/list.js";
import * as overriding from "../src/operations/override.js";
import * as resetting from "../src/operations/reset.js";
import { wake, workerFunctionsIn } from "../src/queue/start.js";
import { vRateLimitSnapshot } from "../src/snapshots.js";
import {
  adjustAllArgs,
  adjustArgs,
  allArgs,
  bucketArgs,
  configuredArgs,
  demandArgs,
  listArgs,
  overrideArgs,
  vRateLimitAllStatus,
  vRateLimitPage,
  vRateLimitStatus,
} from "../src/validators.js";
import { mutation, query } from "./_generated/server.js";

export const consume = mutation({
  args: demandArgs,
  returns: vRateLimitStatus,
  handler: (ctx, args) => consuming.consume(ctx, parseRequest(args)),
});

export const check = query({
  args: demandArgs,
  returns: vRateLimitStatus,
  handler: (ctx, args) => consuming.check(ctx, parseRequest(args)),
});

export const consumeAll = mutation({
  args: allArgs,
  returns: vRateLimitAllStatus,
  handler: (ctx, { requests }) => all.consumeAll(ctx, bundle(requests.map(parseRequest))),
});

export const checkAll = query({
  args: allArgs,
  returns: vRateLimitAllStatus,
  handler: (ctx, { requests }) => all.checkAll(ctx, bundle(requests.map(parseRequest))),
});

export const adjust = mutation({
  args: adjustArgs,
  returns: vRateLimitStatus,
  handler: (ctx, args) => adjusting.adjust(ctx, adjustmentOf(parseBucket(args), args)),
});

export const adjustAll = mutation({
  args: adjustAllArgs,
  returns: v.array(vRateLimitStatus),
  handler: async (ctx, { adjustments }) => {
    const all = adjustments.map((args) => adjustmentOf(parseBucket(args), args));
    const statuses = await adjusting.adjustAll(ctx, all);
    for (const args of adjustments) if (args.count < 0) await wake(ctx, args, workerFunctionsIn("queue"));
    return statuses;
  },
});

export const get = query({
  args: configuredArgs,
  returns: vRateLimitSnapshot,
  handler: (ctx, args) => consuming.get(ctx, parseBucket(args)),
});

export const reset = mutation({
  args: bucketArgs,
  returns: v.null(),
  handler: (ctx, args) => resetting.reset(ctx, args),
});

export const override = mutation({
  args: overrideArgs,
  returns: v.null(),
  handler: (ctx, { name, key, ...override }) => overriding.setOverride(ctx, { name, key }, override),
});

export const clearOverride = mutation({
  args: bucketArgs,
  returns: v.null(),
  handler: (ctx, args) => overriding.clearOverride(ctx, args),
});

export const list = query({
  args: listArgs,
  returns: vRateLimitPage,
  handler: (ctx, { name, config, overrides, ...options }) =>
    listing.list(ctx, listing.parseList(parseLimit(name, config), options, overrides)),
});
