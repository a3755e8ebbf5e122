/**
 * The operations of src/, run on the component's own tables. The wire is not trusted: arguments are parsed again.
 * Validators are getters, since only a deploy reads them, and written out, since the components directory looks for
 * them in this text. Every run evaluates the whole module, so what only administrators call is in upkeep.ts.
 */
import { v } from "convex/values";
import { adjustmentOf } from "../src/engine/adjustment.js";
import { bucketOf, requestOf, slotOf } from "../src/engine/request.js";
import * as adjusting from "../src/operations/adjust.js";
import * as consuming from "../src/operations/consume.js";
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
  handler: (ctx, args) => consuming.consume(ctx, requestOf(args)),
});

export const check = query({
  get args() {
    return wire.demandArgs();
  },
  get returns() {
    return wire.statusValidator();
  },
  handler: (ctx, args) => consuming.check(ctx, requestOf(args)),
});

export const consumeAll = mutation({
  get args() {
    return wire.allArgs();
  },
  get returns() {
    return wire.allStatusValidator();
  },
  handler: (ctx, { requests }) => consuming.consumeAll(ctx, requests.map(requestOf)),
});

export const checkAll = query({
  get args() {
    return wire.allArgs();
  },
  get returns() {
    return wire.allStatusValidator();
  },
  handler: (ctx, { requests }) => consuming.checkAll(ctx, requests.map(requestOf)),
});

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

export const get = query({
  get args() {
    return wire.getArgs();
  },
  get returns() {
    return snapshotValidator();
  },
  handler: (ctx, args) => consuming.get(ctx, bucketOf(args)),
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
