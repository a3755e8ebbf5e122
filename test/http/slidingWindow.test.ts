// @vitest-environment edge-runtime
/** The status of a sliding window says when tokens come back, since the call has read the row. */
import { type RateLimitConfig, SECOND } from "convex-rate-limits";
import { placeNames } from "../support/places.js";
import { forAll, type Step, tell, times, tokens, useClock } from "./backend.js";

useClock();

const config: RateLimitConfig = { kind: "sliding window", rate: 5, period: 20 * SECOND };
const sliding = forAll("sliding", config);
const bucket = forAll("bucket", tokens(9, 9 * SECOND));
const other = forAll("other", { ...config, rate: 3 });
const sizeOf = ({ url }: Request) => Number(new URL(url).searchParams.get("size") ?? 1);
/** A request whose answer says what is left of the sliding window. */
const left = (state: string, path = ""): Step => {
  return [path, { status: path.startsWith("/500") ? 500 : 200, left: `"sliding";${state}` }];
};

tell(
  {
    "t is the time until the next request once r is spent, and at least the time in which r comes back": {
      limits: sliding,
      steps: [
        // Only the token that was just taken is missing, and it comes back after the period.
        left("r=4;t=20"),
        ...["r=3;t=17", "r=2;t=14", "r=1;t=11", "r=0;t=8"].flatMap((state) => [3 * SECOND, left(state)]),
        8 * SECOND,
        left("r=0;t=3"),
        ...times(2, 3 * SECOND, left("r=0;t=3")),
      ],
    },
    "each of several limits sends its own t, and a denial sends the exact wait": {
      limits: [bucket, sliding, other],
      steps: [
        ["", { left: '"other";r=2;t=20, "sliding";r=4;t=20, "bucket";r=8;t=8' }],
        4 * SECOND,
        ["", { left: '"other";r=1;t=16, "sliding";r=3;t=16, "bucket";r=8;t=8' }],
        "200",
        ["", { wait: "16" }],
      ],
    },
    "after a refund, the fields say what is left then": {
      limits: { ...sliding, refund: "failed" },
      steps: [left("r=5;t=20", "/500"), left("r=4;t=20"), 6 * SECOND, left("r=4;t=16", "/500")],
    },
    "after a refund of three tokens, t is the period, since three more tokens than are left never come earlier": {
      limits: { ...sliding, cost: sizeOf, refund: "failed" },
      steps: [left("r=4;t=20"), 6 * SECOND, left("r=4;t=20", "/500?size=3")],
    },
  },
  placeNames,
);
