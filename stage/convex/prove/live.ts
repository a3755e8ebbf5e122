/** The same bucket as in tables.ts, for a client that watches it. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { rateLimitLive } from "convex-rate-limits/live";
import { admit } from "./secret.js";

const limits = defineRateLimits({
  proof: { kind: "token bucket", rate: 1, period: SECOND, capacity: 1, keyed: true },
});

/** The client passes the secret and the key as one text, with a space between them. */
export const { getRateLimit, getServerTime } = rateLimitLive(limits).exposeRateLimit("proof", {
  key: (_ctx, asked = "") => {
    const [secret = "", key = ""] = asked.split(" ");
    admit(secret);
    return key;
  },
});
