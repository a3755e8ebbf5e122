/** The size of the client's entries. A change that exceeds these sizes must give a reason. */
import { expect, it } from "vitest";
import { measureSizes, type Size } from "../../bench/size.js";

/** Bytes, minified and gzipped. */
const MOST: Record<Size["name"], number> = {
  useRateLimit: 2105,
  "convex-rate-limits/react": 2386,
  "convex-rate-limits/client": 2197,
  projectRateLimit: 1310,
};

it("the client's entries stay small", async () => {
  const sizes = await measureSizes();
  expect(sizes.map(({ name }) => name)).toEqual(Object.keys(MOST));
  for (const { name, gzipped } of sizes) expect.soft(gzipped, name).toBeLessThanOrEqual(MOST[name]);
});
