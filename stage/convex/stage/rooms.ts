/**
 * Code that the stage's modules share. It is a toy: anybody who knows a room's name may do anything in
 * it, and edit its limits.
 */
import {
  defineRateLimits,
  type RateLimitConfig,
  type RateLimitDefinition,
} from "convex-rate-limits";
import { rateLimitLive } from "convex-rate-limits/live";
import { vRateLimitConfig } from "convex-rate-limits/schema";
import { ConvexError, v } from "convex/values";
import type { Doc } from "../_generated/dataModel.js";
import {
  internalQuery,
  mutation,
  type QueryCtx,
} from "../_generated/server.js";

const { getRateLimit } = rateLimitLive(defineRateLimits({}));

/** Checks a key that the page sends: it must be a room's name, no longer than the page makes them. */
export function roomOf(_ctx: unknown, room: string | undefined) {
  if (room !== undefined && /^[\w-]{1,40}$/.test(room))
    return room;
  throw new ConvexError({ kind: "BadRoom" });
}

/** The caller, found by the server. The page has no sign-in, so the room stands in for the user's id, which `ctx.auth` has in an app. */
export function callerOf(ctx: unknown, room: string | undefined) {
  return roomOf(ctx, room);
}

/** The config of a limit in a room: the one edited on the page, or else the module's. */
export function editable<
  Limits extends Record<string, RateLimitDefinition>,
>(limits: Limits) {
  return async (
    ctx: QueryCtx,
    room: string,
    name: keyof Limits & string,
  ): Promise<RateLimitConfig> =>
    (await editOf(ctx, room, name))?.config ??
    configIn(limits[name]);
}

/** The part of a definition that may be edited: how the limit behaves. */
function configIn(
  definition: RateLimitDefinition | undefined,
): RateLimitConfig {
  if (!definition) throw new Error("There is no such limit.");
  const config = { ...definition };
  delete config.keyed;
  return config;
}

/**
 * The options of `exposeRateLimit`: the page may read a room's bucket, with the room's config. If a key is more than the room's
 * name, `keyOf` makes the key from what the page asks for, and `roomIn` finds the room in the key.
 */
export function forPage<Name extends string>(
  configOf: (
    ctx: QueryCtx,
    room: string,
    name: Name,
  ) => Promise<RateLimitConfig>,
  name: Name,
  keyOf: (
    ctx: unknown,
    asked: string | undefined,
  ) => string = roomOf,
  roomIn: (key: string) => string = (key) => key,
) {
  return {
    key: keyOf,
    config: (ctx: QueryCtx, key = "") =>
      configOf(ctx, roomIn(key), name),
  };
}

const changes = v.object({
  rate: v.optional(v.number()),
  period: v.optional(
    v.union(
      v.number(),
      v.literal("day"),
      v.literal("week"),
      v.literal("month"),
    ),
  ),
  capacity: v.optional(v.number()),
  maxReserved: v.optional(v.number()),
});

/**
 * Changes a limit while it is in use. Taken tokens stay taken. `changes` has only the fields that change, so that two
 * edits at the same time are both applied. `shown` is the config that the page showed before the first edit.
 */
export const configure = mutation({
  args: {
    room: v.string(),
    name: v.string(),
    shown: vRateLimitConfig,
    changes,
  },
  returns: v.null(),
  handler: async (ctx, { room, name, shown, changes }) => {
    const edited = await editOf(ctx, roomOf(ctx, room), name);
    const config = {
      ...(edited?.config ?? shown),
      ...changes,
    } as RateLimitConfig;
    try {
      // This call parses the config, so that a bad one is refused here.
      await getRateLimit(ctx, { name, key: room, config });
    } catch (error) {
      throw new ConvexError({
        kind: "BadLimit",
        message:
          error instanceof Error ? error.message : String(error),
      });
    }
    if (edited)
      await ctx.db.patch("stageConfigs", edited._id, { config });
    else
      await ctx.db.insert("stageConfigs", { room, name, config });
    return null;
  },
});

/** For HTTP actions, which have no `ctx.db`. */
export const edited = internalQuery({
  args: { room: v.string(), name: v.string() },
  returns: v.union(vRateLimitConfig, v.null()),
  handler: async (ctx, { room, name }) =>
    (await editOf(ctx, room, name))?.config ?? null,
});

async function editOf(
  ctx: QueryCtx,
  room: string,
  name: string,
): Promise<Doc<"stageConfigs"> | null> {
  return await ctx.db
    .query("stageConfigs")
    .withIndex("by_room_name", (q) =>
      q.eq("room", room).eq("name", name),
    )
    .unique();
}
