// @vitest-environment edge-runtime
/** A limit in shadow lets every request through, tells clients nothing, and gives back only what was taken. */
import { placeNames } from "../support/places.js";
import { byUser, forAll, tokens, useClock } from "./backend.js";
import { type Step, type Story, tell, times } from "./stories.js";

useClock();

const tried = forAll("tried", tokens(2), { mode: "shadow" });
const held = forAll("held", tokens(10), { cost: 2 });
const policy = { policy: '"held";q=10;w=60' };
const bug = () => Promise.reject(new Error("bug"));

/** The true answer, which only the handler is told. */
const told = (ok: boolean, path = ""): Step => {
  const fields = { left: null, policy: null, wait: null };
  const body = [{ name: "tried", status: { ok: true, shadow: { ok } } }];
  return [path, { status: path === "/500" ? 500 : 200, ...fields, body }];
};

/** Alone, and beside a limit that is enforced. */
const passes = (what: string, limit: object, reports: string[] = []): Record<string, Story> => {
  const one = { ...tried, ...limit };
  return {
    [`lets ${what} pass`]: { limits: one, steps: [["", { policy: null }]], reports },
    [`lets ${what} pass, and the limit beside it counts`]: { limits: [one, held], steps: [["", policy]], reports },
  };
};

tell(
  {
    "serves every request, without header fields and onDenied; the handler is told the true answer": {
      limits: tried,
      onDenied: bug,
      steps: [told(true), told(true), told(false), told(false)],
    },
    "beside a limit that is enforced, only that one is named, and denies": {
      limits: [tried, held],
      steps: [...times(5, ["", policy]), ["", { status: 429, body: { "violated-policies": ["held"] } }]],
    },
    ...passes("a request without a key", { by: byUser, without: "deny" }),
    ...passes("a cost above the capacity", { cost: 5 }),
    ...passes("a cost that is no number", { cost: () => NaN }),
    ...passes("a request whose config fails", { config: bug }, ["bug"]),
    "lets requests pass if it cannot be asked": { limits: tried, runMutation: bug, steps: ["200"], reports: ["bug"] },
    "beside a limit that is enforced, nobody is served if they cannot be asked": {
      limits: [tried, held],
      runMutation: bug,
      steps: ["503"],
      reports: ["bug"],
    },
    "is the definition's, also if the options say undefined": {
      definitions: { calls: { ...tokens(1), mode: "shadow" } },
      limits: { limit: "calls", by: "everyone", mode: undefined },
      steps: times(2, "200"),
    },
    "a refund gives back what was taken, and nothing that was not": {
      limits: tried,
      refund: "failed",
      // The denied one gives nothing back, so the next is denied as well: five requests, and one of the two refunds.
      steps: [told(true), told(true, "/500"), told(true), told(false, "/500"), told(false)],
      calls: 6,
    },
  },
  placeNames,
);
