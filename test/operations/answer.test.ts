/** When tokens come back, in the status of a call that asks for it. */
import { expect, it } from "vitest";
import { parseRequest } from "../../src/engine/request.js";
import { renewing } from "../../src/operations/answer.js";
import { T0 } from "../laws/arbitraries.js";

const config = { kind: "token bucket" as const, rate: 10, period: 1000 };
const allowed = { ok: true, remaining: 3, resetAt: T0 + 700 } as const;
const denied = { ok: false, remaining: 0, resetAt: T0 + 1000, retryAt: T0 + 100 } as const;

it.each<[string, asked: object, status: typeof allowed | typeof denied, renewsAt?: number]>([
  ["a request of one", {}, allowed, T0 + 100],
  ["a request of four", { count: 4 }, allowed, T0 + 100],
  ["a request of seven, of which a full bucket holds one", { count: 7 }, allowed, T0 + 400],
  ["a request that was denied", {}, denied],
  ["a request that does not ask", { renews: false }, allowed],
])("%s", (_what, asked, status, renewsAt) => {
  const request = parseRequest({ name: "send", config, renews: true, ...asked });
  const { unitsPerToken } = request.limit;
  const after = () => ({ value: 3 * unitsPerToken, ts: T0 });
  const expected = renewsAt === undefined ? status : { ...status, renewsAt };
  expect(renewing(request, status, T0, after)).toEqual(expected);
});
