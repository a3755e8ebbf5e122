/** Home B: the operations of src/, run on the component's own tables. The wire is not trusted: arguments are parsed again. */
import { v } from "convex/values";
import * as operations from "../src/operations.js";
import { parsePlace, parseRequest } from "../src/request.js";
import { bucketArgs, configuredArgs, demandArgs, vRateLimitSnapshot, vRateLimitStatus } from "../src/validators.js";
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
