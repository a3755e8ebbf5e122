// @vitest-environment edge-runtime
/** Requests that should not count: their tokens come back in one more call, or their limit is in shadow. */
import { MINUTE, SECOND } from "convex-rate-limits";
import { fromQuery } from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";
import { placeNames } from "../support/places.js";
import type { Step, Story } from "./backend.js";
import { byPath, byUser, forAll, pass, serve, tell, times, tokens, useClock } from "./backend.js";

useClock();

const three = forAll("three", tokens(3));
const aMinute = { kind: "fixed window", rate: 50, period: MINUTE, start: 0 } as const;
const days = forAll("days", aMinute, { cost: fromQuery("days", { default: 10 }) });
const both = { limits: [three, days] };
const undated = expect.not.objectContaining({ takenAt: expect.anything() as unknown }) as unknown;
const ONE_TAKEN = '"three";r=2;t=20, "days";r=40;t=60';
const TWO_TAKEN = '"three";r=1;t=40, "days";r=30;t=60';
const FULL = '"three";r=3;t=0, "days";r=50;t=60';
const hundred = { ...three, by: byUser, without: "deny", cost: 50, config: tokens(100) };

tell(
  {
    "failed requests of any cost do not count, and the fields say what is left after the refund": {
      ...both,
      refund: "failed",
      calls: 12,
      steps: [
        ["/500?days=45", { status: 500, left: '"days";r=50;t=60, "three";r=3;t=0' }],
        ["/404", { status: 404, left: FULL }],
        ["/400", { status: 400, left: FULL }],
        ["/500?days=50", { status: 500, left: '"days";r=50;t=60, "three";r=3;t=0' }],
        ["", { left: ONE_TAKEN }],
        ...times(2, "200"),
        "429",
      ],
    },
    "a handler that throws has failed, and its error is still thrown": {
      ...both,
      refund: "failed",
      steps: [...times(5, ["/throw", "bug"]), ["", { left: ONE_TAKEN }]],
    },
    "without refund, a handler that throws counts, and no status has takenAt, since rows need not keep it": {
      ...both,
      steps: [
        ["/throw", "bug"],
        ["", { left: TWO_TAKEN, body: [{ status: undated }, { status: undated }] }],
      ],
    },
    "a function decides by the response, which is undefined if the handler threw": {
      ...both,
      refund: (response) => Promise.resolve(response === undefined || response.status === 304),
      steps: [...times(5, "/304 304", ["/throw", "bug"]), ["", { left: ONE_TAKEN }]],
    },
    "refund may be a number of tokens, at most those taken; a negative one is charged; other values are reported": {
      limits: hundred,
      formats: ["x"],
      refund: (_response, request) => Number(new URL(request.url).searchParams.get("back")),
      steps: [
        ["a /?back=30", { "X-RateLimit-Remaining": "80" }],
        ["b /?back=0", { "X-RateLimit-Remaining": "50" }],
        ["b /?back=70", { "X-RateLimit-Remaining": "50" }],
        ["c /?back=-20", { "X-RateLimit-Remaining": "30" }],
        ["b /?back=-1e300", { "X-RateLimit-Remaining": "0" }],
        ["d /?back=x", { "X-RateLimit-Remaining": "50" }],
      ],
      reports: ["refund must be a boolean or a finite number of tokens"],
    },
    // 28 are owed: after three windows two tokens are there, and a request takes three.
    "after a further charge, t is the end of the window, also if that does not pay it": {
      limits: { ...three, cost: 3, config: { ...aMinute, rate: 10 } },
      refund: () => -35,
      steps: [["", { left: '"three";r=0;t=60' }], 239 * SECOND, "429", SECOND, "200"],
    },
  },
  placeNames,
);

const free = forAll("free", tokens(3), { cost: 0 });
let calls = 0;
const down = () => Promise.reject(new Error("down"));
tell({
  "nothing is refunded if nothing was taken": { limits: free, refund: () => true, calls: 1, steps: ["200"] },
  "a refund that fails is reported, and the request is served": {
    limits: three,
    refund: "successful",
    runMutation: (call) => (calls++ === 0 ? call() : down()),
    steps: [["", { left: '"three";r=2;t=20' }]],
    reports: ["down"],
  },
  "a refund function that throws is reported, and the other limits are still refunded": {
    limits: [forAll("bug", tokens(3), { refund: down }), { ...three, refund: "successful" }],
    steps: [["", { left: '"bug";r=2;t=20, "three";r=3;t=0' }]],
    reports: ["down"],
  },
});

describe.each(placeNames)("with the limits in the %s", (place) => {
  // Otherwise, a limit of 5 a minute would handle more than 5 requests, or more than 5 wrong passwords, in one ms.
  it.each([
    { refund: "failed", back: "/500", counted: "/200", kind: "token bucket" },
    { refund: "successful", back: "/200", counted: "/401", kind: "token bucket" },
    { refund: "successful", back: "/200", counted: "/401", kind: "sliding window" },
  ] as const)("slow $refund requests free only what they took ($kind)", async ({ refund, back, counted, kind }) => {
    let handled = 0;
    const useUp = async () => {
      while ((await send(counted)).status !== 429) handled++;
    };
    const limits = forAll("five", { kind, rate: 5, period: MINUTE });
    const send = serve({ limits, place, refund }, async (...call) => {
      if (call[1].url.includes("slow")) {
        // The token of the slow request comes back by itself, and others use all five.
        pass(MINUTE);
        await useUp();
      }
      return await byPath(...call);
    });
    await send(`${back}?slow`);
    await useUp();
    expect(handled).toBe(5);
  });
});

// A limit in shadow lets every request pass, sends clients no fields, and refunds only what was taken.
const tried = forAll("tried", tokens(2), { mode: "shadow" });
const held = forAll("held", tokens(10), { cost: 2 });
const heldPolicy = { policy: '"held";q=10;w=60' };
const bug = () => Promise.reject(new Error("bug"));

/** A request to which only the handler gets the true answer. */
const answered = (ok: boolean, path = ""): Step => {
  const fields = { left: null, policy: null, wait: null };
  const body = [{ name: "tried", status: { ok: true, shadow: { ok } } }];
  return [path, { status: path === "/500" ? 500 : 200, ...fields, body }];
};

/** Two stories: the limit alone, and next to a limit that is enforced. */
const passes = (what: string, limit: object, reports: string[] = []): Record<string, Story> => {
  const one = { ...tried, ...limit };
  return {
    [`a limit in shadow lets ${what} pass`]: { limits: one, steps: [["", { policy: null }]], reports },
    [`a limit in shadow lets ${what} pass, and an enforced limit counts it`]: {
      limits: [one, held],
      steps: [["", heldPolicy]],
      reports,
    },
  };
};

tell(
  {
    "a limit in shadow serves every request without header fields or onDenied, and gives the handler the true answer": {
      limits: tried,
      onDenied: bug,
      steps: [answered(true), answered(true), answered(false), answered(false)],
    },
    "if another limit is enforced, only that limit is named and denies": {
      limits: [tried, held],
      steps: [...times(5, ["", heldPolicy]), ["", { status: 429, body: { "violated-policies": ["held"] } }]],
    },
    ...passes("a request without a key", { by: byUser, without: "deny" }),
    ...passes("a cost above the capacity", { cost: 5 }),
    ...passes("a cost that is no number", { cost: () => NaN }),
    ...passes("a request whose caller is not found", { by: undefined, config: undefined, identify: bug }, ["bug"]),
    "a limit in shadow lets all pass when down": { limits: tried, runMutation: bug, steps: ["200"], reports: ["bug"] },
    "if another limit is enforced, no request is served when the limits cannot be asked": {
      limits: [tried, held],
      runMutation: bug,
      steps: ["503"],
      reports: ["bug"],
    },
    "the mode of the definition applies if the option is undefined": {
      definitions: { calls: { ...tokens(1), mode: "shadow" } },
      limits: { limit: "calls", by: "everyone", mode: undefined },
      steps: times(2, "200"),
    },
    "a refund gives back only what was taken": {
      limits: tried,
      refund: "failed",
      // The denied request refunds nothing, so the next is denied as well. Six calls: five requests, and one of the two refunds.
      steps: [answered(true), answered(true, "/500"), answered(true), answered(false, "/500"), answered(false)],
      calls: 6,
    },
  },
  placeNames,
);
