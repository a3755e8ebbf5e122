/** The `renewsAt` of a status, for a call that asks for it. */
import { expect, it } from "vitest";
import { bundle } from "../../src/engine/bundle.js";
import { parseRequest } from "../../src/engine/request.js";
import { fullShard } from "../../src/engine/sharding/shard.js";
import { answerOnAll } from "../../src/operations/answer.js";
import { checkAll, consumeAll } from "../../src/operations/consume.js";
import { T0 } from "../laws/arbitraries.js";
import { NOW, useClock } from "../support/clock.js";
import { FakeDb } from "../support/fakeDb.js";

useClock();

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

it.each(["token bucket", "sliding window"] as const)(
  "a call of a %s that may be split has the renewsAt of a check",
  async (kind) => {
    const db = new FakeDb();
    const requests = bundle([
      parseRequest({ name: "send", config: { ...config, kind, shards: "auto" }, renews: true }),
    ]);
    const checked = await db.transaction((ctx) => checkAll(ctx as never, requests));
    expect(checked.statuses).toMatchObject([
      { ok: true, remaining: 9, renewsAt: kind === "token bucket" ? NOW + 100 : NOW + 1000 },
    ]);
    expect(await db.transaction((ctx) => consumeAll(ctx as never, requests))).toEqual(checked);
  },
);
