// convex/http.ts
import { httpRouter } from "convex/server";
import { limitHttp } from "convex-rate-limits/http";
import { httpAction } from "./_generated/server";
import { limits, rules } from "./limits";

const http = httpRouter();

http.route({
  pathPrefix: "/packages/",
  method: "GET",
  handler: httpAction(
    limitHttp(limits, rules.public, (_ctx, request) => Promise.resolve(Response.json({ url: request.url }))),
  ),
});
http.route({
  pathPrefix: "/admin/",
  method: "POST",
  handler: httpAction(limitHttp(limits, rules.admin, () => Promise.resolve(Response.json({ done: true })))),
});

export default http;
