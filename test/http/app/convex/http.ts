// convex/http.ts
import { httpRouter } from "convex/server";
import { defineRateLimits, MINUTE } from "convex-rate-limits/component";
import { address, limitHttp } from "convex-rate-limits/http";
import { components } from "./_generated/api";
import { httpAction } from "./_generated/server";

const limits = defineRateLimits(
  { hello: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 10 } },
  { component: components.rateLimits },
);
const http = httpRouter();

http.route({
  path: "/hello",
  method: "GET",
  handler: httpAction(
    limitHttp(
      limits,
      { limit: "hello", by: address({ trustedProxies: 1 }), without: "share" },
      async () => new Response("Hello"),
    ),
  ),
});

export default http;
