// @vitest-environment edge-runtime
/** A limit in shadow lets every request pass, sends clients no fields, and refunds only what was taken. */
import { placeNames } from "../support/places.js";
import { byUser, forAll, type Step, type Story, tell, times, tokens, useClock } from "./backend.js";

useClock();

const tried = forAll("tried", tokens(2), { mode: "shadow" });
const held = forAll("held", tokens(10), { cost: 2 });
const policy = { policy: '"held";q=10;w=60' };
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
      steps: [["", policy]],
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
      steps: [...times(5, ["", policy]), ["", { status: 429, body: { "violated-policies": ["held"] } }]],
    },
    ...passes("a request without a key", { by: byUser, without: "deny" }),
    ...passes("a cost above the capacity", { cost: 5 }),
    ...passes("a cost that is no number", { cost: () => NaN }),
    ...passes("a request whose config fails", { config: bug }, ["bug"]),
    "a limit in shadow lets requests pass if it cannot be asked": {
      limits: tried,
      runMutation: bug,
      steps: ["200"],
      reports: ["bug"],
    },
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
