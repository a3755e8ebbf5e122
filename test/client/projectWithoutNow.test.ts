import { projectRateLimit } from "convex-rate-limits";
import { expect, it } from "vitest";

it("projectRateLimit without now says that it got undefined, not NaN", () => {
  const config = { kind: "token bucket", rate: 5, period: 1000 } as const;
  const project = projectRateLimit as (...args: unknown[]) => unknown;
  const call = () => project({ name: "send", value: 3, ts: 0, config }, {});
  expect(call).toThrow(
    'Rate limit "send": now must be a number of milliseconds from -8.64e15 to 8.64e15, got undefined.',
  );
});
