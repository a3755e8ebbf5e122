// @vitest-environment edge-runtime
/** A limit in shadow lets every request through, tells clients nothing, and gives back only what was taken. */
import { SECOND } from "convex-rate-limits";
import { type HttpLimit, type LimitedBy } from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import type { PlaceName } from "../support/places.js";
import { byUser, serve, useClock } from "./backend.js";

useClock();

const config = { kind: "token bucket", rate: 2, period: 60 * SECOND } as const;
const tried: HttpLimit = { limit: "tried", by: "everyone", config, mode: "shadow" };
const held: HttpLimit = { limit: "held", by: "everyone", config: { ...config, rate: 10 }, cost: 2 };

describe.each<[string, PlaceName]>([
  ["your tables", "tables"],
  ["the component", "component"],
])("in %s", (_, place) => {
  it("serves every request, without header fields, and the handler is told the true answer", async () => {
    const seen: LimitedBy[] = [];
    const onDenied = vi.fn();
    const send = serve({ limits: tried, place, onDenied }, (_ctx, _request, limits) => {
      seen.push(...limits);
      return Promise.resolve(new Response("served"));
    });
    for (const ok of [true, true, false, false]) {
      const { status, headers } = await send("/");
      expect(status).toBe(200);
      expect([...headers.keys()].filter((name) => /ratelimit|retry-after/.test(name))).toEqual([]);
      expect(seen.at(-1)?.status).toMatchObject({ ok: true, shadow: { ok } });
    }
    expect(onDenied).not.toHaveBeenCalled();
  });

  it("beside a limit that is enforced, only that one is told, and denies", async () => {
    const send = serve({ limits: [tried, held], place }, () => Promise.resolve(new Response()));
    for (let i = 0; i < 5; i++) {
      const { status, headers } = await send("/");
      expect(status).toBe(200);
      expect(headers.get("RateLimit-Policy")).toBe('"held";q=10;w=60');
    }
    const denied = await send("/");
    expect(denied.status).toBe(429);
    expect(await denied.json()).toMatchObject({ "violated-policies": ["held"] });
  });

  it("lets a request without a key, one above the capacity, and one whose functions fail pass", async () => {
    const report = vi.fn();
    const bug = () => Promise.reject(new Error("bug"));
    for (const limits of [
      { ...tried, by: byUser, without: "deny" },
      { ...tried, cost: 5 },
      { ...tried, cost: () => NaN },
      { ...tried, config: bug },
    ]) {
      expect((await serve({ limits, place, report })()).status).toBe(200);
      const both = await serve({ limits: [limits, held], place, report })();
      expect([both.status, both.headers.get("RateLimit-Policy")]).toEqual([200, '"held";q=10;w=60']);
    }
    expect(report).toHaveBeenCalledTimes(2);
    const down = serve({ limits: tried, place, report, runMutation: bug });
    expect((await down()).status).toBe(200);
  });

  it("is the definition's, also if the options say undefined", async () => {
    const definitions = { calls: { kind: "token bucket", rate: 1, period: 60_000, mode: "shadow" } } as const;
    const send = serve({ definitions, limits: { limit: "calls", by: "everyone", mode: undefined }, place });
    expect([(await send()).status, (await send()).status]).toEqual([200, 200]);
  });

  it("a refund gives back what was taken, and nothing that was not", async () => {
    const statuses: unknown[] = [];
    const runMutation = vi.fn((call: () => Promise<unknown>) => call());
    const send = serve({ limits: tried, place, refund: "failed", runMutation }, (_ctx, request, [limit]) => {
      statuses.push(limit?.status.shadow);
      return Promise.resolve(new Response(null, { status: new URL(request.url).pathname === "/fail" ? 500 : 200 }));
    });
    await send("/");
    await send("/fail");
    await send("/");
    // Denied, so nothing comes back: the next one is denied as well.
    await send("/fail");
    await send("/");
    expect(statuses).toMatchObject([{ ok: true }, { ok: true }, { ok: true }, { ok: false }, { ok: false }]);
    // Five requests, and one of the two refunds.
    expect(runMutation).toHaveBeenCalledTimes(6);
  });
});
