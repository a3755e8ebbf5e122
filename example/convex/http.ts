/** The routes of the small public API; gateway.ts says what they are limited to. */
import { httpRouter } from "convex/server";
import { limitHttp } from "convex-rate-limits/http";
import { httpAction } from "./_generated/server.js";
import { cors, limits, rules } from "./gateway.js";
import { proveRoutes } from "./prove/gate.js";
import { hello } from "./stage/gate.js";

const http = httpRouter();

http.route({
  path: "/api/hello",
  method: "GET",
  handler: httpAction(
    limitHttp(limits, rules.hello, () => Promise.resolve(Response.json({ hello: "world" }, { headers: cors }))),
  ),
});

http.route({
  path: "/api/reports",
  method: "GET",
  handler: httpAction(
    limitHttp(limits, rules.reports, (_ctx, request) => {
      const days = new URL(request.url).searchParams.get("days") ?? "7";
      return Promise.resolve(Response.json({ report: `the last ${days} days` }, { headers: cors }));
    }),
  ),
});

// What the page's HTTP tab calls.
http.route({ path: "/api/stage", method: "GET", handler: hello });

// A browser asks before it sends a key; the answer is not counted.
http.route({
  pathPrefix: "/api/",
  method: "OPTIONS",
  handler: httpAction(() => Promise.resolve(new Response(null, { status: 204, headers: cors }))),
});

// What `npm run prove` calls, with a secret.
proveRoutes(http);

export default http;
