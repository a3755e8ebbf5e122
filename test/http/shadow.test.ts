/** A limit in shadow lets every request through, tells clients nothing, and gives back only what was taken. */
import { SECOND } from "convex-rate-limits";
import { type Consume, everyone, fixed, type HttpLimit, inComponent, type LimitedBy } from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { component } from "../support/places.js";
import { consumeIn, serve, useClock } from "./backend.js";

useClock();

const config = { kind: "token bucket", rate: 2, period: 60 * SECOND } as const;
const tried: HttpLimit = { name: "tried", key: everyone, config: { ...config, mode: "shadow", throws: true } };
const held: HttpLimit = { name: "held", key: everyone, config: { ...config, rate: 10 }, cost: fixed(2) };

describe.each<[string, Consume]>([
  ["your tables", consumeIn("tables")],
  ["the component", inComponent(component)],
])("in %s", (_, consume) => {
  it("serves every request, without header fields, and the handler is told the true answer", async () => {
    const seen: LimitedBy[] = [];
    const onDenied = vi.fn();
    const send = serve({ limits: tried, consume, onDenied }, (_ctx, _request, limits) => {
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
    const send = serve({ limits: [tried, held], consume }, () => Promise.resolve(new Response()));
    for (let i = 0; i < 5; i++) {
      const { status, headers } = await send("/");
      expect(status).toBe(200);
      expect(headers.get("RateLimit-Policy")).toBe('"held";q=10;w=60');
    }
    const denied = await send("/");
    expect(denied.status).toBe(429);
    expect(await denied.json()).toMatchObject({ "violated-policies": ["held"] });
  });

  it("a refund gives back what was taken, and nothing that was not", async () => {
    const statuses: unknown[] = [];
    const send = serve({ limits: tried, consume, refund: "failed" }, (_ctx, request, [limit]) => {
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
  });
});
