/** Home B: the operations of src/, run on the component's own tables. The wire is not trusted: arguments are parsed again. */
import { v } from "convex/values";
import { adjust as adjustBucket } from "../src/operations/adjust.js";
import * as all from "../src/operations/all.js";
import { bundle } from "../src/engine/bundle.js";
import { parseLimit } from "../src/engine/limit.js";
import { list as listKeys, parseList } from "../src/operations/list.js";
import * as operations from "../src/operations/consume.js";
import { parsePlace, parseRequest, withUnits } from "../src/engine/request.js";
import {
  adjustArgs,
  allArgs,
  bucketArgs,
  configuredArgs,
  demandArgs,
  listArgs,
  vRateLimitAllStatus,
  vRateLimitPage,
  vRateLimitSnapshot,
  vRateLimitStatus,
} from "../src/validators.js";
import { mutation, query } from "./_generated/server.js";

export const consume = mutation({
  args: demandArgs,
  returns: vRateLimitStatus,
  handler: (ctx, args) => operations.consume(ctx, parseRequest(args)),
});

export const check = query({
  args: demandArgs,
  returns: vRateLimitStatus,
  handler: (ctx, args) => operations.check(ctx, parseRequest(args)),
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
  handler: (ctx, args) => adjustBucket(ctx, withUnits(parsePlace(args), args.count)),
});

export const get = query({
  args: configuredArgs,
  returns: vRateLimitSnapshot,
  handler: (ctx, args) => operations.get(ctx, parsePlace(args)),
});

export const reset = mutation({
  args: bucketArgs,
  returns: v.null(),
  handler: (ctx, args) => operations.reset(ctx, args),
});

export const list = query({
  args: listArgs,
  returns: vRateLimitPage,
  handler: (ctx, args) => listKeys(ctx, parseList(parseLimit(args.name, args.config), args)),
});
