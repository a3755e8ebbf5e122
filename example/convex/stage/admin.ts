/** Who has to wait, and a way to end it. An app lets admins only. */
import {
  defineRateLimits,
  vRateLimitPage,
} from "convex-rate-limits";
import { v } from "convex/values";
import { mutation, query } from "../_generated/server.js";
import { limits as burst } from "./burst.js";
import { limits as login } from "./login.js";
import { limits as queue } from "./queue.js";

const { listRateLimits, resetRateLimit } = defineRateLimits({
  ...burst,
  ...login,
  ...queue,
});

const vName = v.union(
  v.literal("send"),
  v.literal("failedLogin"),
  v.literal("model"),
);

/** A page of the keys, with what each of them has left now. */
export const list = query({
  args: {
    name: vName,
    onlyLimited: v.boolean(),
    cursor: v.optional(v.string()),
  },
  returns: vRateLimitPage,
  handler: (ctx, { name, onlyLimited, cursor }) =>
    listRateLimits(ctx, { name, onlyLimited, limit: 20, cursor }),
});

/** The bucket is full again. */
export const reset = mutation({
  args: { name: vName, key: v.string() },
  returns: v.null(),
  handler: (ctx, { name, key }) =>
    resetRateLimit(ctx, { name, key }),
});
