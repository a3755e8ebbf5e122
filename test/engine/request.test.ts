/** Requests that can be trusted, parsed from the arguments of callers and of the wire. */
import type { RateLimitConfig } from "convex-rate-limits";
import { expect, it } from "vitest";
import { parseRequest } from "../../src/engine/request.js";

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000 };

it("a request is refused for a bad name, a bad config, a bad key or a bad count", () => {
  const good = { name: "send", config };
  expect(() => parseRequest({ ...good, name: "" })).toThrow("name must be");
  expect(() => parseRequest({ ...good, config: { ...config, rate: 0 } })).toThrow("rate must be");
  expect(() => parseRequest({ ...good, key: "" })).toThrow('Rate limit "send": key must be a non-empty string');
  expect(() => parseRequest({ ...good, count: -1 })).toThrow("count must be");
  expect(() => parseRequest({ ...good, key: "k".repeat(257) })).toThrow("key must be at most 256");
  expect(() => parseRequest({ ...good, key: "alice", count: 11 })).toThrow("can never be served");
});
