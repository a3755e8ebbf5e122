// @vitest-environment edge-runtime
import { projectRateLimit } from "convex-rate-limits";
import { expect, it } from "vitest";
import { snapshotBy } from "../support/snapshots.js";

it("projectRateLimit without now says that it got undefined, not NaN", () => {
  const config = { kind: "token bucket", rate: 5, period: 1000 } as const;
  const snapshot = snapshotBy({ name: "send", value: 3, ts: 0, config });
  const project = projectRateLimit as (...args: unknown[]) => unknown;
  expect(() => project(snapshot, {})).toThrow(
    'Rate limit "send": now must be milliseconds since the epoch, got undefined.',
  );
});
