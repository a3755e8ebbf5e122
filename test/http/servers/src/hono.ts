// src/hono.ts
import { Hono } from "hono";
import { rateLimitHeaders, tooManyRequests } from "convex-rate-limits/http";
import { enter, unavailable } from "./gate";

export const app = new Hono();

app.use(async (c, next) => {
  // Browsers send a preflight by themselves; ten of them must not lock everybody out.
  if (c.req.method === "OPTIONS") {
    await next();
    return;
  }
  const limited = await enter(c.req.header("X-Api-Key"));
  if (!limited) return unavailable();
  if (!limited.status.ok) return tooManyRequests(limited);
  await next();
  for (const [name, value] of Object.entries(rateLimitHeaders(limited))) c.header(name, value);
});

app.get("/hello", (c) => c.text("Hello"));
