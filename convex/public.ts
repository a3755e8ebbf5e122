/**
 * The operations of src/, run on the component's own tables. The wire is not trusted: arguments are parsed again. What only administrators
 * call is in upkeep.ts, so that a run of a limit does not load it.
 */
import { v } from "convex/values";
import { adjustmentOf } from "../src/engine/adjustment.js";
import { bundle } from "../src/engine/bundle.js";
import { parseBucket, parseRequest } from "../src/engine/request.js";
import * as adjusting from "../src/operations/adjust.js";
import * as all from "../src/operations/all.js";
import * as consuming from "../src/operations/consume.js";
import * as wire from "../src/wire/answers.js";
import { functionOf } from "../src/wire/functionOf.js";
import { snapshotValidator } from "../src/wire/snapshots.js";
import { mutation, query } from "./_generated/server.js";

export const consume = mutation(
  functionOf(wire.demandArgs, wire.statusValidator, (ctx, args) => consuming.consume(ctx, parseRequest(args))),
);

export const check = query(
  functionOf(wire.demandArgs, wire.statusValidator, (ctx, args) => consuming.check(ctx, parseRequest(args))),
);

export const consumeAll = mutation(
  functionOf(wire.allArgs, wire.allStatusValidator, (ctx, { requests }) =>
    all.consumeAll(ctx, bundle(requests.map(parseRequest))),
  ),
);

export const checkAll = query(
  functionOf(wire.allArgs, wire.allStatusValidator, (ctx, { requests }) =>
    all.checkAll(ctx, bundle(requests.map(parseRequest))),
  ),
);

export const adjust = mutation(
  functionOf(wire.adjustArgs, wire.statusValidator, (ctx, args) =>
    adjusting.adjust(ctx, adjustmentOf(parseBucket(args), args)),
  ),
);

export const adjustAll = mutation(
  functionOf(
    wire.adjustAllArgs,
    () => v.array(wire.statusValidator()),
    (ctx, { adjustments }) =>
      adjusting.adjustAll(
        ctx,
        adjustments.map((args) => adjustmentOf(parseBucket(args), args)),
      ),
  ),
);

export const get = query(
  functionOf(wire.getArgs, snapshotValidator, (ctx, args) => consuming.get(ctx, parseBucket(args))),
);

export const pause = mutation(
  functionOf(wire.pauseArgs, v.null, (ctx, args) => adjusting.pause(ctx, { ...parseBucket(args), until: args.until })),
);

export const reset = mutation(functionOf(wire.bucketArgs, v.null, (ctx, args) => adjusting.reset(ctx, args)));
