/** An HTTP endpoint that tells its callers how many tokens are left. */
import {
  defineRateLimits,
  SECOND,
} from "convex-rate-limits/component";
import {
  type Caller,
  type HttpCtx,
  limitHttp,
} from "convex-rate-limits/http";
import { rateLimitLive } from "convex-rate-limits/live";
import { components, internal } from "../_generated/api.js";
import { httpAction } from "../_generated/server.js";
import { editable, forPage, roomOf } from "./rooms.js";

const limits = {
  requests: {
    kind: "token bucket",
    rate: 1,
    period: 3 * SECOND,
    capacity: 5,
    keyed: true,
  },
} as const;

const defined = defineRateLimits(limits, {
  component: components.rateLimits,
});

export const hello = httpAction(
  limitHttp(
    defined,
    {
      limit: "requests",
      identify,
      cors: { "Access-Control-Allow-Origin": "*" },
      formats: ["draft-11", "x"],
    },
    () => Promise.resolve(Response.json({ hello: "world" })),
  ),
);

// For the page.

/** One bucket for each room, which all its pages share. */
async function identify(
  ctx: HttpCtx,
  request: Request,
): Promise<Caller> {
  const room = new URL(request.url).searchParams.get("room");
  if (!room) return { without: { status: 400 } };
  const config = await ctx.runQuery(internal.stage.rooms.edited, {
    room,
    name: "requests",
  });
  return { key: room, config: config ?? undefined };
}

const { exposeRateLimit } = rateLimitLive(defined);
const configOf = editable(limits);

export const { getRateLimit: bucket } = exposeRateLimit(
  "requests",
  forPage(
    configOf,
    "requests",
    (ctx, room) => `caller:${roomOf(ctx, room)}`,
    (key) => key.slice("caller:".length),
  ),
);
