// convex/preflight.ts
import { httpRouter } from "convex/server";
import { limitHttp } from "convex-rate-limits/http";
import { httpAction } from "./_generated/server";
import { caller, limits } from "./limits";

const http = httpRouter();
const cors = { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "X-Api-Key" };
http.route({
  pathPrefix: "/api/",
  method: "OPTIONS",
  handler: httpAction(async () => new Response(null, { status: 204, headers: cors })),
});
http.route({
  pathPrefix: "/api/",
  method: "POST",
  handler: httpAction(
    limitHttp(
      limits,
      { limit: "api", by: caller, without: "share", cors },
      async () => new Response("Hello", { headers: cors }),
    ),
  ),
});

export default http;
