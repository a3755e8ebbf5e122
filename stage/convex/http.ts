/** The routes of the small public API. Their limits are in gateway.ts. */
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
    limitHttp(limits, rules.reports, (_ctx, _request, limited) => {
      // The days that were paid for: a client may name more than the cost's `max`.
      const days = limited.find(({ name }) => name === "report-days")?.count ?? 7;
      return Promise.resolve(Response.json({ report: `the last ${days} days` }, { headers: cors }));
    }),
  ),
});

// The page's HTTP tab calls this route.
http.route({ path: "/api/stage", method: "GET", handler: hello });

// A browser sends a preflight request before a request with a key. Preflight requests are not counted.
http.route({
  pathPrefix: "/api/",
  method: "OPTIONS",
  handler: httpAction(() => Promise.resolve(new Response(null, { status: 204, headers: cors }))),
});

// `npm run prove` calls these routes, with a secret.
proveRoutes(http);

export default http;
