/**
 * Attacks: what a client may send, and what it must never see. What only the app can prevent is in onlyTheApp.test.ts. SECURITY.md names
 * these tests, and those of single functions: bad arguments are in test/client/misuse.test.ts, exposed queries in
 * test/client/expose.test.ts, keys in test/http.
 */
import { makeFunctionReference } from "convex/server";
import { ConvexError } from "convex/values";
import { MINUTE } from "convex-rate-limits";
import { address, apiKey, bearer, fromQuery, httpKey } from "convex-rate-limits/http";
import type { RateLimitLease } from "convex-rate-limits/jobs";
import { describe, expect, it, vi } from "vitest";
import { END_OF_TIME } from "../../src/engine/time.js";
import { openApp, serve, tokens } from "../http/backend.js";
import { NOW, useClock } from "../support/clock.js";
import { denialOf, thrownBy } from "../support/errors.js";
import { useBackend } from "../support/limits.js";
import { defineIn, documentsIn, placeNames } from "../support/places.js";
import { useQueues } from "../support/queues.js";

const bucket = { kind: "token bucket", rate: 6, period: MINUTE } as const;
const window = { kind: "fixed window", rate: 6, period: MINUTE, start: 0 } as const;
const sliding = { kind: "sliding window", rate: 6, period: MINUTE } as const;
const slots = { kind: "concurrency", slots: 2, lease: MINUTE, keyed: true } as const;

describe.each(placeNames)("what a client hands back to an app in the %s", (place) => {
  useClock(NOW, "Date");
  const { define, rows, insert } = useBackend(place);
  const limits = define({ bucket, window, sliding, slots, other: slots, mine: bucket });

  const forged: [string, Partial<RateLimitLease>][] = [
    ["of another user", { key: "bob" }],
    ["of everybody", { key: undefined }],
    ["of another limit", { name: "other" }],
    ["of a limit with tokens", { name: "sliding" }],
    ["with an earlier date", { takenAt: NOW - 1, until: NOW - 1 + MINUTE }],
    ["with a later date", { takenAt: NOW + 1, until: NOW + 1 + MINUTE }],
    ["with another length", { until: NOW + 2 * MINUTE }],
    ["from before all takes, as in shadow", { takenAt: 0, until: MINUTE }],
    ["with a number of resets to come", { takenAt: NOW - 1, until: NOW - 1 + MINUTE, seen: 99 }],
  ];
  it.each(forged)("a made-up lease frees no slot: one %s", async (_, fields) => {
    for (const name of ["slots", "sliding"]) await limits.rateLimit({ name, key: "ann" });
    vi.setSystemTime(NOW + 7);
    await limits.rateLimit({ name: "other", key: "ann" });
    const taken = await rows();
    const lease = { name: "slots", key: "ann", takenAt: NOW, until: NOW + MINUTE };
    expect(await limits.releaseRateLimit({ ...lease, ...fields })).toBeNull();
    expect(await rows()).toEqual(taken);
    await limits.releaseRateLimit(lease);
    expect(await rows()).not.toEqual(taken);
  });

  it.each(["bucket", "window", "sliding"])(
    "a date before the first take or after the last gives back nothing: of a %s",
    async (name) => {
      await limits.rateLimit({ name, key: "ann", count: 2, refundable: true });
      vi.setSystemTime(NOW + 5);
      await limits.rateLimit({ name, key: "ann", count: 3 });
      const left = async () => (await limits.checkRateLimit({ name, key: "ann", count: 0 })).remaining;
      for (const takenAt of [0, NOW - 1, NOW + 6, END_OF_TIME]) {
        await limits.adjustRateLimit({ name, key: "ann", count: -100, takenAt });
        expect(await left(), String(takenAt)).toBe(1);
      }
      // With the true date, no count gives back more than was missing after that take.
      await limits.adjustRateLimit({ name, key: "ann", count: -100, takenAt: NOW });
      expect(await left()).toBe(3);
    },
  );

  it("a made-up cursor shows keys of its own limit only, and changes nothing", async () => {
    for (const key of ["ann", "bob", "\0", "\u{10ffff}"]) await limits.rateLimit({ name: "mine", key });
    for (const name of ["bucket", "window"]) await limits.rateLimit({ name, key: "secret" });
    const before = await rows();
    const cursors = [["mine"], ["mine", null], ["mine", ""], ["mine", "b"], ["mine", "a".repeat(100_000)]];
    const pages = cursors.map(async (cursor) => {
      const { page } = await limits.listRateLimits({ name: "mine", cursor: JSON.stringify(cursor) });
      return page.map(({ key }) => key);
    });
    const all = ["\0", "ann", "bob", "\u{10ffff}"];
    expect(await Promise.all(pages)).toEqual([all, all, all, all.slice(2), all.slice(1)]);
    const others =
      '["bucket"] ["min"] ["mine\\u0000"] [["mine"]] ["mine",1] ["mine",["a"]] ["mine","a",1] {} "mine" null [mine]';
    for (const cursor of [...others.split(" "), "[".repeat(10_000)]) {
      const listing = limits.listRateLimits({ name: "mine", cursor });
      await expect(listing, cursor.slice(0, 20)).rejects.toThrow("cursor must be one that the page before returned");
    }
    expect(await rows()).toEqual(before);
  });

  it("an error that names a key is a plain Error, whose message Convex does not send to clients", async () => {
    await insert({ name: "bucket", key: "damaged", value: 1, ts: -1 });
    const [config, key] = [{ ...bucket, rate: Number.NaN }, "damaged"];
    for (const args of [{ count: -1 }, { config }, { plan: "pro" }, { name: "none" }, { cuont: 1 }, { key }]) {
      const error = await thrownBy(limits.rateLimit({ name: "bucket", key: "ann", throws: true, ...args }));
      expect(error, JSON.stringify(args)).toBeInstanceOf(Error);
      expect(error).not.toBeInstanceOf(ConvexError);
    }
  });
});

describe.each(placeNames)("a queue in the %s", (place) => {
  useClock();
  const queued = { kind: "token bucket", rate: 1, period: 1000, capacity: 1, keyed: true, queue: {} } as const;

  it("shows and cancels no job by a made-up id, or by the id of another user's job", async () => {
    // The app trusts the id that a client sends, but not the key.
    const exposed = (_ctx: unknown, id: string) => ({ name: "llm", key: "ann", id });
    const { t, jobOf, cancel } = useQueues(place, { llm: queued, others: queued }, {}, { exposed });
    const own = await jobOf("own", { key: "ann" });
    const { id: bobs } = await jobOf("bob's", { key: "bob" });
    const { id: others } = await jobOf("of another limit", { key: "ann", name: "others" });
    const [worker] = await documentsIn(place, t, "rateLimitWorkers");
    const before = await documentsIn(place, t, "rateLimitQueue");
    const getQueued = makeFunctionReference<"query", { job: string }>("exposed:getQueued");
    const find = (job: string) => t.query(getQueued, { job }).catch(() => "refused");
    expect(await find(own.id)).toEqual({ ahead: 0, startsAt: NOW });
    for (const id of [bobs, others]) {
      expect(await find(id)).toBeNull();
      expect(await cancel({ ...own, id })).toBe(false);
    }
    for (const id of ["", "forged", "\0", "__proto__", "9".repeat(100_000), worker?.["_id"] as string]) {
      expect(await find(id)).toBe("refused");
      await expect(cancel({ ...own, id })).rejects.toThrow(Error);
    }
    expect(await documentsIn(place, t, "rateLimitQueue")).toEqual(before);
  });
});

describe("an HTTP request", () => {
  useClock(NOW, "Date");
  const byAddress = address({ trustedProxies: 1 });
  const from = (hops: string): RequestInit => ({ headers: { "X-Forwarded-For": hops } });

  it("has one bucket for an address, however it is written and whatever stands before it", async () => {
    const send = serve({ limits: { limit: "api", by: byAddress, without: "deny", config: tokens(6) } });
    const spellings = "198.51.100.7 ::ffff:198.51.100.7 [::FFFF:c633:6407]:443 198.51.100.7:1 64:ff9b::c633:6407";
    const statuses: number[] = [];
    for (const spelt of [...spellings.split(" "), "203.0.113.1, 198.51.100.7", "203.0.113.2,,[::1], 198.51.100.7"])
      statuses.push((await send("/", from(spelt))).status);
    expect(statuses).toEqual([...new Array<number>(6).fill(200), 429]);
  });

  it("is answered at once, and counted or refused, whatever its header fields are", async () => {
    const known = () => false;
    const send = serve({
      limits: {
        limit: "api",
        by: [apiKey({ known }), bearer({ known }), byAddress],
        without: "deny",
        config: tokens(1),
        cost: fromQuery("size", { default: 1 }),
      },
      onError: "open",
      report: () => undefined,
    });
    expect((await send("/", from("198.51.100.7"))).status).toBe(200);
    const many = 200_000;
    const fields: [string, string][] = [
      ["X-Api-Key", "k".repeat(many)],
      ["Authorization", `Bearer ${"=".repeat(many)}`],
      ["Authorization", `Bearer ${"a".repeat(many)}= `],
      ["Authorization", `Bearer${" ".repeat(many)}!`],
      ["X-Forwarded-For", ",".repeat(many)],
      ["X-Forwarded-For", ":".repeat(many)],
      ["X-Forwarded-For", `${"1".repeat(many)}:1`],
      ["X-Forwarded-For", `[${"::".repeat(many)}]`],
      ["X-Forwarded-For", `${"203.0.113.1,".repeat(many / 10)}198.51.100.7`],
      ["Forwarded", "for=203.0.113.9"],
    ];
    const start = performance.now();
    for (const [name, value] of fields) {
      const isOwn = name === "X-Forwarded-For";
      const headers = { ...(isOwn ? {} : { "X-Forwarded-For": "198.51.100.7" }), [name]: value };
      const isKeyless = isOwn && !value.endsWith("198.51.100.7");
      expect((await send("/", { headers })).status, `${name}: ${value.slice(0, 20)}`).toBe(isKeyless ? 403 : 429);
    }
    for (const size of ["1e9", "0".repeat(many) + "x", "9".repeat(many)])
      expect((await send(`/?size=${size}`, from("198.51.100.8"))).status).toBe(400);
    expect((await send("/?size=2", from("198.51.100.8"))).status).toBe(403);
    // A search in quadratic time takes minutes for one of these.
    expect(performance.now() - start).toBeLessThan(20_000);
  });
});

describe.each(placeNames)("no client sees a key or a note, in the %s", (place) => {
  useClock(NOW, "Date");
  const { define } = useBackend(place);
  const [key, note] = ["ann@example.com", "pays late"];
  const limits = define({ mine: bucket, window: { kind: "fixed window", rate: 6, period: MINUTE } });

  it("in a status, a snapshot, or the error of a denial", async () => {
    const ways: object[] = [{ more: 5 }, { config: sliding }, { unlimited: true }, { block: true }];
    const sent: unknown[] = [];
    for (const way of ways) {
      await limits.overrideRateLimit({ name: "mine", key, note, ...way });
      for (const call of ["checkRateLimit", "rateLimit", "getRateLimit"] as const)
        sent.push(await limits[call]({ name: "mine", key }));
    }
    const data = await denialOf(limits.rateLimit({ name: "mine", key, throws: true }));
    for (const call of ["rateLimit", "getRateLimit"] as const) sent.push(await limits[call]({ name: "window", key }));
    const text = JSON.stringify([...sent, data]);
    expect(text.includes(key) || text.includes(note)).toBe(false);
  });

  it("in an answer over HTTP, served, denied, blocked or refused", async () => {
    const secret = "s3cret";
    const stored = await httpKey("apiKey", secret);
    const api = { limit: "api", by: apiKey(), without: "deny", cost: fromQuery("size", { default: 1 }) };
    const { t, send } = openApp({ limits: api, place, definitions: { api: tokens(2) }, formats: ["draft-11", "x"] });
    const statuses: number[] = [];
    const ask = async (path: string) => {
      const response = await send(path, { headers: { "X-Api-Key": secret } });
      const text = JSON.stringify([[...response.headers], await response.text()]);
      expect([secret, stored, stored.slice(7)].filter((part) => text.includes(part))).toEqual([]);
      statuses.push(response.status);
    };
    for (const path of ["/", "/", "/", "/?size=9", "/?size=x"]) await ask(path);
    const { overrideRateLimit } = defineIn(place, { api: tokens(2) });
    await t.mutation((ctx) => overrideRateLimit(ctx, { name: "api", key: stored, block: true, note }));
    await ask("/");
    expect(statuses).toEqual([200, 200, 429, 403, 400, 403]);
  });
});
