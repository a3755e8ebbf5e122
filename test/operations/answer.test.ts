/** The `renewsAt` of a status, for a call that asks for it. */
import { expect, it } from "vitest";
import { parseRequest } from "../../src/engine/request.js";
import { renewing } from "../../src/operations/answer.js";
import { T0 } from "../laws/arbitraries.js";

const config = { kind: "token bucket" as const, rate: 10, period: 1000 };
const allowed = { ok: true, remaining: 3, resetAt: T0 + 700 } as const;
const denied = { ok: false, remaining: 0, resetAt: T0 + 1000, retryAt: T0 + 100 } as const;

it.each<[string, asked: object, status: typeof allowed | typeof denied, renewsAt?: number]>([
  ["a request for 1 token has the time of the next token", {}, allowed, T0 + 100],
  ["a request for 4 tokens has the time of the next token", { count: 4 }, allowed, T0 + 100],
  ["a request for 7 tokens has the time when it is served", { count: 7 }, allowed, T0 + 400],
  ["a denied request has no renewsAt", {}, denied],
  ["a request that does not ask has no renewsAt", { renews: false }, allowed],
])("%s", (_what, asked, status, renewsAt) => {
  const request = parseRequest({ name: "send", config, renews: true, ...asked });
  const after = () => ({ value: 3 * request.limit.unitsPerToken, ts: T0 });
  expect(renewing(request, status, T0, after)).toEqual({ ...status, renewsAt });
});
