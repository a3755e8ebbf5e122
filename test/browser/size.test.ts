// @vitest-environment node
/** What a page pays for. A change that makes it more than this has to say why. */
import { expect, it } from "vitest";
import { measureSizes, type Size } from "../../bench/size.js";

/** Bytes, minified and gzipped. */
const MOST: Record<Size["name"], { gzipped: number; withConversion: number }> = {
  useRateLimit: { gzipped: 2375, withConversion: 4750 },
  "convex-rate-limits/react": { gzipped: 2525, withConversion: 4900 },
  "convex-rate-limits/client": { gzipped: 2160, withConversion: 4550 },
  project: { gzipped: 950, withConversion: 950 },
};

it("the client's entries stay small", async () => {
  const sizes = await measureSizes();
  expect(sizes.map(({ name }) => name)).toEqual(Object.keys(MOST));
  for (const { name, gzipped, withConversion } of sizes) {
    expect.soft(gzipped, name).toBeLessThanOrEqual(MOST[name].gzipped);
    expect.soft(withConversion, name).toBeLessThanOrEqual(MOST[name].withConversion);
  }
});
