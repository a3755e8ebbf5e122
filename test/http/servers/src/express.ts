// src/express.ts
import express from "express";
import { rateLimitHeaders, tooManyRequests } from "convex-rate-limits/http";
import { enter, unavailable } from "./gate";

export const app = express();

app.use(async (request, response, next) => {
  // Browsers send a preflight by themselves; ten of them must not lock everybody out.
  if (request.method === "OPTIONS") {
    next();
    return;
  }
  const limited = await enter(request.header("X-Api-Key"));
  if (limited?.status.ok) {
    response.set(rateLimitHeaders(limited));
    next();
    return;
  }
  const denied = limited ? tooManyRequests(limited) : unavailable();
  response
    .status(denied.status)
    .set(Object.fromEntries(denied.headers))
    .send(await denied.text());
});

app.get("/hello", (_request, response) => {
  response.send("Hello");
});
