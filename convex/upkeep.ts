/** What changes a bucket without asking it: refunds, charges, pauses, resets, overrides. The wire is not trusted. */
import { v } from "convex/values";
import { adjustmentOf } from "../src/engine/adjustment.js";
import { bucketOf, slotOf } from "../src/engine/request.js";
import * as adjusting from "../src/operations/adjust.js";
import * as overriding from "../src/operations/override.js";
import { overrideArgs } from "../src/wire/admin.js";
import * as wire from "../src/wire/answers.js";
import { mutation } from "./_generated/server.js";

export const adjust = mutation({
  get args() {
    return wire.adjustArgs();
  },
  get returns() {
    return v.array(wire.statusValidator());
  },
  handler: (ctx, { adjustments }) =>
    adjusting.adjustAll(
      ctx,
      adjustments.map((args) => adjustmentOf(bucketOf(args), args)),
    ),
});

export const release = mutation({
  get args() {
    return wire.leaseFields();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, args) => adjusting.release(ctx, slotOf(args)),
});

export const pause = mutation({
  get args() {
    return wire.pauseArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, args) => adjusting.pause(ctx, args),
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
    return overrideArgs();
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
