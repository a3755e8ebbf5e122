// @vitest-environment node
/** What a page pays for. A change that makes it more than this has to say why. */
import { expect, it } from "vitest";
import { measureSizes, type Size } from "../../bench/size.js";

/** Bytes, minified and gzipped. */
const MOST: Record<Size["name"], { gzipped: number; withConversion: number }> = {
  useRateLimit: { gzipped: 2410, withConversion: 4750 },
  "convex-rate-limits/react": { gzipped: 2560, withConversion: 4900 },
  "convex-rate-limits/client": { gzipped: 2200, withConversion: 4520 },
  project: { gzipped: 1000, withConversion: 1000 },
};

it("the client's entries stay small", async () => {
  const sizes = await measureSizes();
  expect(sizes.map(({ name }) => name)).toEqual(Object.keys(MOST));
  for (const { name, gzipped, withConversion } of sizes) {
    expect.soft(gzipped, name).toBeLessThanOrEqual(MOST[name].gzipped);
    expect.soft(withConversion, name).toBeLessThanOrEqual(MOST[name].withConversion);
  }
});
