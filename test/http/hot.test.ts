// @vitest-environment edge-runtime
/** A limit on several rows answers without `remaining` if not all of its rows were read: then it sends its policy alone. */
import { SECOND } from "convex-rate-limits";
import { expect } from "vitest";
import { placeNames } from "../support/places.js";
import { useClock } from "./backend.js";
import { tell, times } from "./stories.js";

useClock();

const tokens = (rate: number) => ({ kind: "token bucket", rate, period: rate * SECOND });
const policies = { policy: '"plain";q=90;w=90, "hot";q=1000;w=1000' };

tell(
  {
    "the policy alone, and the whole state with a denial": {
      limits: [
        { limit: "plain", by: "everyone", config: tokens(90) },
        { limit: "hot", by: "everyone", config: { ...tokens(1000), shards: { atLeast: 8 } }, cost: 100 },
      ],
      steps: [
        ...times(10, ["", { ...policies, left: expect.stringContaining('"plain";r=') as string }]),
        ["", { status: 429, ...policies, wait: "100", left: '"hot";r=0;t=100' }],
      ],
    },
  },
  placeNames,
);
