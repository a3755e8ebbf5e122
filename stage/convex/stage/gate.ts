/** An HTTP endpoint that tells its callers how many tokens are left. */
import {
  defineRateLimits,
  SECOND,
} from "convex-rate-limits/component";
import { custom, limitHttp } from "convex-rate-limits/http";
import { components, internal } from "../_generated/api.js";
import {
  type ActionCtx,
  httpAction,
} from "../_generated/server.js";
import { editable, forPage, roomOf } from "./rooms.js";

const requests = {
  kind: "token bucket",
  rate: 1,
  period: 3 * SECOND,
  capacity: 5,
} as const;
const limits = {
  requests: { ...requests, keyed: true },
} as const;

const defined = defineRateLimits(limits, {
  component: components.rateLimits,
});

/** One bucket for each room, which all its pages share. */
const byRoom = custom("room", (_ctx, request) =>
  new URL(request.url).searchParams.get("room"),
);

export const hello = httpAction(
  limitHttp(
    defined,
    {
      limit: "requests",
      by: byRoom,
      without: { status: 400 },
      config: edited,
      cors: { "Access-Control-Allow-Origin": "*" },
      formats: ["draft-11", "x"],
    },
    () => Promise.resolve(Response.json({ hello: "world" })),
  ),
);

// For the page.

async function edited({
  ctx,
  key = "",
}: {
  ctx: Pick<ActionCtx, "runQuery">;
  key?: string;
}) {
  return (
    (await ctx.runQuery(internal.stage.rooms.edited, {
      room: key.slice("own.room:".length),
      name: "requests",
    })) ?? requests
  );
}

const { exposeRateLimit } = defined;
const configOf = editable(limits);

export const { getRateLimit: bucket } = exposeRateLimit(
  "requests",
  forPage(
    configOf,
    "requests",
    (ctx, room) => `own.room:${roomOf(ctx, room)}`,
    (key) => key.slice("own.room:".length),
  ),
);
