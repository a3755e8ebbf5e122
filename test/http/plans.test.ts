// @vitest-environment edge-runtime
/** A caller's key and quota: plans, configs by request, and one look-up for one or several limits. */
import { MINUTE } from "convex-rate-limits";
import { type Caller, type HttpLimit } from "convex-rate-limits/http";
import { beforeEach, expect, vi } from "vitest";
import { placeNames } from "../support/places.js";
import { type Answer, byUser, type Step, type Story, tell, times, tokens, useClock } from "./backend.js";

useClock();

const definitions = {
  calls: { kind: "token bucket", period: MINUTE, keyed: true, plans: { free: { rate: 2 }, pro: { rate: 10 } } },
} as const;
const limit = { limit: "calls", by: byUser, without: "deny" };
const policy = (q: number, name = "calls") => ({ policy: `"${name}";q=${q};w=60` });
const paying = (_ctx: unknown, { headers }: Request) => {
  const key = headers.get("X-User") ?? "nobody";
  return { key, plan: key.includes("paying") ? "pro" : "free" };
};
const found = (caller: object) => ({ limit: "calls", identify: () => ({ key: "user", ...caller }) });
const problem = 'Rate limit "calls": plan must be "free" or "pro", got';

const answers = (limits: object, answer: Answer): Story => ({ definitions, limits, steps: [["guest", answer]] });
const underDefinition = (caller: object, answer: Answer): Story => {
  return { ...answers(found(caller), answer), definitions: { calls: tokens(2) } };
};

tell(
  {
    "identify gives the plan, and the headers give the plan's quota": {
      definitions,
      limits: { limit: "calls", identify: paying },
      steps: [["paying", policy(10)], ...times(2, ["guest", policy(2)]), ["guest", { status: 429, ...policy(2) }]],
    },
    "a plan may be the same for all requests": answers({ ...limit, plan: "pro" }, policy(10)),
    "a look-up finds the key and the plan": answers(found({ plan: "pro" }), policy(10)),
    "a config replaces a plan": answers({ ...limit, config: tokens(4) }, policy(4)),
    "a look-up's plan goes before its config in a limit with plans": answers(
      found({ plan: "pro", config: tokens(4) }),
      policy(10),
    ),
    // Fault 11: this answered 500 to every request.
    "one look-up serves a limit with plans and one without": {
      definitions: { ...definitions, all: tokens(3) },
      limits: ["calls", "all"].map((name) => ({ limit: name, identify: paying })),
      steps: [
        ["paying", { policy: '"calls";q=10;w=60, "all";q=3;w=60' }],
        ...times(2, ["guest", { policy: '"calls";q=2;w=60, "all";q=3;w=60' }]),
        ["guest", { status: 429, body: { "violated-policies": ["calls"] } }],
        ...times(2, "paying 200"),
        ["paying", { status: 429, body: { "violated-policies": ["all"] } }],
      ],
    },
    "one look-up gives a plan to a limit with plans and a config to the other": {
      definitions: { ...definitions, all: tokens(3) },
      limits: ["calls", "all"].map((name) => ({ ...found({ plan: "pro", config: tokens(4) }), limit: name })),
      steps: [["", { policy: '"calls";q=10;w=60, "all";q=4;w=60' }]],
    },
    "a config of a look-up replaces a plan": answers(found({ config: tokens(4) }), policy(4)),
    "a refund counts under the plan of the request": {
      definitions,
      limits: { ...found({ plan: "free" }), refund: "successful" },
      steps: times(4, "guest 200"),
    },
    "an unknown plan is an error, and the request is not served": {
      ...answers(found({ plan: "gold" }), { status: 500 }),
      reports: [`${problem} "gold".`],
    },
    "a look-up without a plan is an error, and the request is not served": {
      ...answers(found({}), { status: 500 }),
      reports: [`${problem} undefined.`],
    },
  },
  placeNames,
);

/** Looks up the caller. A user named "pro-…" pays, and gets 10 times the rate. */
const identify = vi.fn((_ctx: unknown, request: Request): Promise<Caller> => {
  const user = request.headers.get("X-User");
  if (user === null) return Promise.resolve({ without: { status: 401 } });
  return Promise.resolve({ key: user, plan: user.startsWith("pro-") ? "pro" : "free" });
});
beforeEach(() => void identify.mockClear());
const readsAndWritesByPlan = {
  reads: { kind: "token bucket", period: MINUTE, plans: { free: { rate: 20 }, pro: { rate: 200 } } },
  writes: { kind: "token bucket", period: MINUTE, plans: { free: { rate: 2 }, pro: { rate: 20 } } },
} as const;
const reads = { limit: "reads", identify };
const limits: HttpLimit[] = [reads, { limit: "writes", identify, when: ({ request }) => request.method === "POST" }];
const lookedUp = (count: number): Step => {
  return () => {
    expect(identify).toHaveBeenCalledTimes(count);
    return Promise.resolve();
  };
};
const readsAndWrites = '"reads";q=20;w=60, "writes";q=2;w=60';

tell({
  "a look-up is made once per request, and gives each limit its key and its plan": {
    definitions: readsAndWritesByPlan,
    limits,
    steps: [["ada POST", { policy: readsAndWrites }], lookedUp(1), ["pro-bob", policy(200, "reads")], lookedUp(2)],
  },
  "a look-up may end in a refusal": { definitions: readsAndWritesByPlan, limits, steps: ["401"] },
  "a look-up may end in a bucket that all unknown callers share": {
    limits: { limit: "all", identify: () => ({ without: "share", config: tokens(1) }) },
    steps: ["200", "ada 429"],
  },
  "a look-up keeps callers apart, also those with long or odd names": {
    definitions: readsAndWritesByPlan,
    limits,
    steps: ["ada", "bob", "a".repeat(300), `${"a".repeat(300)}b`, "gr\u00fc\u00dfe", "shared:ada"].flatMap((user) => {
      return [...times(2, `${user} POST 200`), `${user} POST 429`];
    }),
  },
  "a look-up without a config leaves the definition's": underDefinition({}, policy(2)),
  "the config of a look-up replaces the definition's": underDefinition({ config: tokens(77) }, policy(77)),
});
