/** What every function run pays for this package: bench/load.ts. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { HELD, measureHeld, measureLoads } from "../../bench/load.js";

describe("the modules of a function run", { timeout: 60_000 }, () => {
  it("have the bytes and run the functions that `npm run bench:load -- --hold` has written", async () => {
    expect(await measureHeld()).toEqual(JSON.parse(readFileSync(HELD, "utf8")));
  });

  it("cost at most half as much again as the official client and component together", async () => {
    const { tables, component, inside, client, official } = await measureRatios();
    // Measured: 1.0 beside 1.6, 1.6 beside 1.6. Without the lazy definitions of version 3 they were 2.9 and 5.
    expect(tables).toBeLessThan(1.5 * (client + official));
    expect(component + inside).toBeLessThan(1.5 * (client + official));
  });
});

async function measureRatios() {
  const cases = ["tables", "component", "inside: public", "official", "official, inside"] as const;
  const loads = await measureLoads("minified", cases, 60);
  const [tables, component, inside, client, official] = cases.map((name) => loads.get(name)?.call ?? NaN);
  return { tables, component, inside, client, official } as Record<
    "tables" | "component" | "inside" | "client" | "official",
    number
  >;
}
