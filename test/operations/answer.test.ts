/** The `renewsAt` of a status, for a call that asks for it. */
import { expect, it } from "vitest";
import { parseRequest } from "../../src/engine/request.js";
import { fullShard } from "../../src/engine/sharding/shard.js";
import { answerOnAll } from "../../src/operations/answer.js";
import { T0 } from "../laws/arbitraries.js";

const config = { kind: "token bucket" as const, rate: 10, period: 1000 };

it.each<[string, asked: object, held: number, renewsAt?: number]>([
  ["a request for 1 token has the time of the next token", {}, 4, T0 + 100],
  ["a request for 4 tokens has the time of the next token", { count: 4 }, 7, T0 + 100],
  ["a request for 7 tokens has the time when it is served", { count: 7 }, 10, T0 + 400],
  ["a denied request has no renewsAt", {}, 0],
  ["a request that does not ask has no renewsAt", { renews: false }, 4],
])("%s", (_what, asked, held, renewsAt) => {
  const statusOf = (renews: boolean) => {
    const request = parseRequest({ name: "send", config, renews, ...asked });
    const { limit } = request;
    const shard = { ...fullShard(limit), state: { value: held * limit.unitsPerToken, ts: T0 }, rows: [] };
    return answerOnAll(request, [shard], T0).status;
  };
  expect(statusOf(true)).toEqual({ ...statusOf(false), renewsAt });
  expect(statusOf(false)).toMatchObject(held > 0 ? { ok: true, remaining: 3 } : { ok: false });
});
