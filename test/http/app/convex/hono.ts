// convex/hono.ts
import { type HonoWithConvex, HttpRouterWithHono } from "convex-helpers/server/hono";
import { limitHttp } from "convex-rate-limits/http";
import { Hono } from "hono";
import type { ActionCtx } from "./_generated/server";
import { caller, limits } from "./limits";

const api: HonoWithConvex<ActionCtx> = new Hono();
api.get("/api/hello", (c) => c.text("Hello"));

const limited = limitHttp(limits, { limit: "api", by: caller, without: "share" }, async (ctx: ActionCtx, request) =>
  api.fetch(request, ctx),
);
const app: HonoWithConvex<ActionCtx> = new Hono();
app.all("/api/*", (c) => limited(c.env, c.req.raw));

export default new HttpRouterWithHono(app);
