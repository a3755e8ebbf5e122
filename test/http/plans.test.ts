// @vitest-environment edge-runtime
/** Limits with plans, over HTTP: which plan holds is chosen by request. */
import { MINUTE } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { byUser, serve, useClock, wrap } from "./backend.js";
import { placeNames } from "../support/places.js";

useClock();

const definitions = {
  calls: { kind: "token bucket", period: MINUTE, keyed: true, plans: { free: { rate: 2 }, pro: { rate: 10 } } },
  plain: { kind: "token bucket", rate: 5, period: MINUTE },
} as const;
const planOf = (key: string | undefined) => (key?.includes("paying") ? "pro" : "free");
const as = (user: string) => ["/", { headers: { "X-User": user } }] as const;
const quotaOf = (response: Response) => /q=(\d+)/.exec(response.headers.get("RateLimit-Policy") ?? "")?.[1];

describe.each(placeNames)("in the %s", (place) => {
  const limit = { limit: "calls", by: byUser, without: "deny" };

  it("a function says the plan, and the headers its quota", async () => {
    const plan = ({ key }: { key: string | undefined }) => planOf(key);
    const send = serve({ place, definitions, limits: { ...limit, plan } });
    expect(quotaOf(await send(...as("paying")))).toBe("10");
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push(await send(...as("guest")));
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(statuses.map(quotaOf)).toEqual(["2", "2", "2"]);
  });

  it("a plan may be the same for all requests", async () => {
    const send = serve({ place, definitions, limits: { ...limit, plan: "pro" } });
    expect(quotaOf(await send(...as("guest")))).toBe("10");
  });

  it("a look-up finds the key and the plan", async () => {
    const identify = () => ({ key: "user", plan: "pro" });
    const send = serve({ place, definitions, limits: { limit: "calls", identify } });
    expect(quotaOf(await send())).toBe("10");
  });

  it("a config of the request stands in place of a plan, from a function or from a look-up", async () => {
    const config = { kind: "token bucket", rate: 4, period: MINUTE } as const;
    const given = serve({ place, definitions, limits: { ...limit, config: () => config } });
    expect(quotaOf(await given(...as("guest")))).toBe("4");
    const found = serve({ place, definitions, limits: { limit: "calls", identify: () => ({ key: "user", config }) } });
    expect(quotaOf(await found())).toBe("4");
  });

  it("what comes back counts under the plan of the request", async () => {
    const plan = () => "free";
    const send = serve({ place, definitions, limits: { ...limit, plan, refund: "successful" } });
    for (let i = 0; i < 4; i++) expect((await send(...as("guest"))).status).toBe(200);
  });

  it("a plan that is none is an error, and the request is not served", async () => {
    const errors: string[] = [];
    const report = (error: unknown) => void errors.push(String(error));
    const send = serve({ place, definitions, limits: { ...limit, plan: () => "gold" }, report });
    expect((await send(...as("guest"))).status).toBe(500);
    const none = serve({ place, definitions, limits: { limit: "calls", identify: () => ({ key: "user" }) }, report });
    expect((await none()).status).toBe(500);
    const problem = 'Error: Rate limit "calls": plan must be "free" or "pro", got';
    expect(errors).toEqual([`${problem} "gold".`, `${problem} undefined.`]);
  });

  it.each([
    [limit, 'plan must be "free" or "pro", got undefined'],
    [{ ...limit, plan: "gold" }, 'plan must be "free" or "pro", got "gold"'],
    [{ limit: "plain", by: "everyone", plan: "pro" }, "plan must be left out (the limit has no plans)"],
    [
      { ...limit, plan: "pro", config: { kind: "token bucket", rate: 1, period: 1 } },
      "plan and config cannot be combined",
    ],
  ])("%o fails when the module loads", (limits, message) => {
    expect(() => wrap({ place, definitions, limits })).toThrow(message);
  });
});
