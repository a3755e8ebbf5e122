/**
 * What the stage's modules have in common. It is a toy: anybody who knows a room's name may do
 * anything in it, and edit its limits.
 */
import {
  defineRateLimits,
  type RateLimitConfig,
  type RateLimitDefinition,
} from "convex-rate-limits";
import { vRateLimitConfig } from "convex-rate-limits/schema";
import { ConvexError, v } from "convex/values";
import type { Doc } from "../_generated/dataModel.js";
import {
  internalQuery,
  mutation,
  type QueryCtx,
} from "../_generated/server.js";

const { getRateLimit } = defineRateLimits({});

/** The server's word on keys: a room's name, and nothing longer than the page makes. */
export function roomOf(_ctx: unknown, room: string | undefined) {
  if (room !== undefined && /^[\w-]{1,40}$/.test(room))
    return room;
  throw new ConvexError({ kind: "BadRoom" });
}

/** The config of a limit in a room: what was edited on the page, else what the module defines. */
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

/** Only how the limit behaves, which may be edited. */
function configIn(
  definition: RateLimitDefinition | undefined,
): RateLimitConfig {
  if (!definition) throw new Error("There is no such limit.");
  const config = { ...definition };
  delete config.keyed;
  delete config.overrides;
  return config;
}

/**
 * What `exposeRateLimit` needs to know: the page may ask for a room's bucket, under the room's config. Where a key is more than
 * the room, `keyOf` makes it of what the page says, and `roomIn` finds the room in it.
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
 * Changes a limit while it is in use: what was taken stays taken. Only what is to change is given, so that two
 * changes on their way at the same time are both made; `shown` is what the page showed before the first one.
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
      // Asking parses the config, so that a bad one is refused here.
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
