// @vitest-environment edge-runtime
/** The clock moves while the limits are asked and while the handler works: the fields are true when they are sent. */
import { SECOND } from "convex-rate-limits";
import { forAll, pass, tokens, useClock, type Way } from "./backend.js";
import { tell, times } from "./stories.js";

useClock();

const onceIn = (period: number) => ({ limits: forAll("one", tokens(1, period)) });
/** A transaction takes a while before it decides, and its answer a while to arrive. */
const slow: Pick<Way, "runMutation"> = {
  runMutation: async (call) => {
    pass(40);
    const answer = await call();
    pass(60);
    return answer;
  },
};

tell({
  "one request a second gets t=1, with q=1;w=1, however long the limits take to answer": {
    ...onceIn(SECOND),
    ...slow,
    steps: times(5, ["", { policy: '"one";q=1;w=1', left: '"one";r=0;t=1' }], SECOND),
  },
  // Decided 10 s - 100 ms before the token comes: sent at 9,840 ms before it.
  "a denial gets the wait from when it is sent": {
    ...onceIn(10 * SECOND),
    ...slow,
    steps: ["200", ["", { wait: "10" }], 841, ["", { wait: "9" }]],
  },
  "the handler's own time counts": {
    ...onceIn(60 * SECOND),
    handler: () => {
      pass(30 * SECOND);
      return Promise.resolve(new Response("a report"));
    },
    steps: [["", { left: '"one";r=0;t=30' }]],
  },
});
