/** Limits on several rows answer without `remaining`; a query beside the call knows it. */
import { SECOND } from "convex-rate-limits";
import { type Consume, everyone, type HttpLimit, inComponent } from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { component } from "../support/places.js";
import { consumeIn, serve, useClock } from "./backend.js";

useClock();

const hot: HttpLimit = {
  name: "hot",
  key: everyone,
  config: { kind: "token bucket", rate: 20, period: 20 * SECOND, shards: 4 },
};
const plain: HttpLimit = {
  name: "plain",
  key: everyone,
  config: { kind: "token bucket", rate: 9, period: 9 * SECOND },
};

/** As a limit on several rows answers that has not read all of them. */
function withoutRemaining(consume: Consume, names: readonly string[]): Consume {
  const forgetful: Consume = async (ctx, requests) => {
    const { statuses } = await consume(ctx, requests);
    const told = statuses.map((status, i) =>
      names.includes(requests[i]?.name ?? "") ? { ...status, remaining: undefined, resetAt: undefined } : status,
    );
    return { statuses: told as unknown as typeof statuses };
  };
  return Object.assign(forgetful, consume);
}

describe.each<[string, Consume]>([
  ["your tables", consumeIn("tables")],
  ["the component", inComponent(component)],
])("in %s", (_, consume) => {
  it("what is left is read with a query, exactly", async () => {
    const send = serve({ limits: [plain, hot], consume: withoutRemaining(consume, ["hot"]) });
    for (let left = 19; left > 12; left--) {
      expect((await send()).headers.get("RateLimit")).toContain(`"hot";r=${left};t=${left}`);
    }
    expect((await send()).headers.get("RateLimit")).toBe('"plain";r=1;t=1, "hot";r=12;t=12');
  });

  it("each of several limits gets its own", async () => {
    const warm: HttpLimit = {
      name: "warm",
      key: everyone,
      config: { kind: "token bucket", rate: 40, period: 40 * SECOND, shards: 2 },
    };
    const send = serve({ limits: [hot, plain, warm], consume: withoutRemaining(consume, ["hot", "warm"]) });
    expect((await send()).headers.get("RateLimit")).toBe('"plain";r=8;t=8, "hot";r=19;t=19, "warm";r=39;t=39');
  });

  it("what is left is told after a refund, too", async () => {
    const split: HttpLimit = {
      ...hot,
      config: { kind: "token bucket", rate: 1000, period: 1000 * SECOND, shards: { atLeast: 8 } },
    } as HttpLimit;
    const send = serve({ limits: split, consume, refund: "failed" }, (_ctx, request) =>
      Promise.resolve(new Response(null, { status: new URL(request.url).pathname === "/fail" ? 500 : 200 })),
    );
    for (let left = 999; left > 980; left--) {
      expect((await send()).headers.get("RateLimit")).toBe(`"hot";r=${left};t=${left}`);
      expect((await send("/fail")).headers.get("RateLimit")).toBe(`"hot";r=${left};t=${left}`);
    }
  });

  it("a denial names its wait, read or not", async () => {
    for (const remaining of ["read", "omit"] as const) {
      const one: HttpLimit = { ...plain, config: { kind: "token bucket", rate: 1, period: 9 * SECOND } } as HttpLimit;
      const send = serve({ limits: one, consume: withoutRemaining(consume, ["plain"]), remaining });
      await send();
      const denied = await send();
      expect([denied.status, denied.headers.get("Retry-After")]).toEqual([429, "9"]);
      expect(denied.headers.get("RateLimit")).toBe(remaining === "read" ? '"plain";r=0;t=9' : null);
    }
  });
});

it("nothing is read where every status says what is left", async () => {
  const snapshots = vi.fn();
  const consume = Object.assign(consumeIn("tables").bind(undefined), { snapshots }) as Consume;
  expect((await serve({ limits: plain, consume })()).headers.get("RateLimit")).toBe('"plain";r=8;t=8');
  expect(snapshots).not.toHaveBeenCalled();
});

it("an option leaves the fields out and saves the query; so does a consume that cannot read", async () => {
  const snapshots = vi.fn<NonNullable<Consume["snapshots"]>>();
  const bare: Consume = consumeIn("tables").bind(undefined);
  const reading: Consume = Object.assign(consumeIn("tables").bind(undefined), { snapshots });
  for (const consume of [reading, bare]) {
    const send = serve({ limits: [plain, hot], consume: withoutRemaining(consume, ["hot"]), remaining: "omit" });
    const { headers } = await send();
    expect(headers.get("RateLimit")).toBe('"plain";r=8;t=8');
    expect(headers.get("RateLimit-Policy")).toBe('"plain";q=9;w=9, "hot";q=20;w=20');
  }
  expect(snapshots).not.toHaveBeenCalled();
  const { headers } = await serve({ limits: hot, consume: withoutRemaining(bare, ["hot"]) })();
  expect([headers.has("RateLimit"), headers.get("RateLimit-Policy")]).toEqual([false, '"hot";q=20;w=20']);
});

it("a query that fails costs the fields, not the request", async () => {
  const report = vi.fn();
  const snapshots = () => Promise.reject(new Error("no query"));
  const consume = Object.assign(consumeIn("tables").bind(undefined), { snapshots }) as Consume;
  const response = await serve({ limits: hot, consume: withoutRemaining(consume, ["hot"]), report })();
  expect([response.status, response.headers.has("RateLimit")]).toEqual([200, false]);
  expect(report).toHaveBeenCalledExactlyOnceWith(new Error("no query"), expect.any(Request));
});
