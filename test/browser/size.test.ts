/** The size of the client's entries. A change that exceeds these sizes must give a reason. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { measureSizes, type Size } from "../../bench/size.js";

/** Bytes, minified and gzipped, as docs/react.md has them. */
const MOST: Record<Size["name"], number> = {
  useRateLimit: 2318,
  "convex-rate-limits/react": 2567,
  "convex-rate-limits/client": 2667,
  projectRateLimit: 1504,
};

it("the client's entries stay small", async () => {
  const sizes = await measureSizes();
  expect(sizes.map(({ name }) => name)).toEqual(Object.keys(MOST));
  const page = readFileSync(new URL("../../docs/react.md", import.meta.url), "utf8");
  for (const { name, gzipped } of sizes) {
    expect.soft(gzipped, name).toBeLessThanOrEqual(MOST[name]);
    expect.soft(page).toMatch(new RegExp(`\`${name}\` *\\| +${MOST[name].toLocaleString("en")} \\|`));
  }
});
