// @vitest-environment edge-runtime
/** A limit on several rows answers without `remaining` if not all of its rows were read: then it sends its policy alone. */
import { SECOND } from "convex-rate-limits";
import type { HttpLimit } from "convex-rate-limits/http";
import { expect, it } from "vitest";
import { placeNames } from "../support/places.js";
import { serve, useClock } from "./backend.js";

useClock();

const hot: HttpLimit = {
  limit: "hot",
  by: "everyone",
  config: { kind: "token bucket", rate: 1000, period: 1000 * SECOND, shards: { atLeast: 8 } },
  cost: 100,
};
const plain: HttpLimit = {
  limit: "plain",
  by: "everyone",
  config: { kind: "token bucket", rate: 90, period: 90 * SECOND },
};

it.each(placeNames)("in the %s: the policy alone, and the whole state with a denial", async (place) => {
  const send = serve({ place, limits: [plain, hot] });
  let passed = 0;
  for (;;) {
    const { status, headers } = await send();
    expect(headers.get("RateLimit-Policy")).toBe('"plain";q=90;w=90, "hot";q=1000;w=1000');
    if (status === 429) {
      expect([headers.get("Retry-After"), headers.get("RateLimit")]).toEqual(["100", '"hot";r=0;t=100']);
      break;
    }
    passed++;
    expect(headers.get("RateLimit")).toContain('"plain";r=');
  }
  expect(passed).toBe(10);
});
