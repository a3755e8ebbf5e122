// convex/http.ts
import { httpRouter } from "convex/server";
import { MINUTE } from "convex-rate-limits";
import { byAddress, firstOf, inComponent, limitHttp, sharedBucket } from "convex-rate-limits/http";
import { components } from "./_generated/api";
import { httpAction } from "./_generated/server";

const http = httpRouter();

http.route({
  path: "/hello",
  method: "GET",
  handler: httpAction(
    limitHttp(
      {
        limits: {
          name: "hello",
          // One bucket per address. On a laptop no proxy tells the address: those requests share a bucket.
          key: firstOf(byAddress({ trustedProxies: 1 }), sharedBucket("no address")),
          config: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 10 },
        },
        consume: inComponent(components.rateLimits),
      },
      async () => new Response("Hello"),
    ),
  ),
});

export default http;
