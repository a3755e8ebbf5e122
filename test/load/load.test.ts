/** The cost of this package in every function run, measured by bench/load.ts. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { HELD, type Load, measureHeld, measureLoads } from "../../bench/load.js";
import { modulesIn } from "../../bench/load/bundles.js";

// A busy machine can disturb every run of one case. What really costs more does so in each of four measurements.
describe("the modules of a function run", { retry: 3 }, () => {
  it("have the sizes, and run the functions, that `npm run bench:load -- --hold` has recorded", async () => {
    expect(await measureHeld()).toEqual(JSON.parse(readFileSync(HELD, "utf8")));
  });

  it("decide nothing in an app whose limits are in the component: the engine is loaded there only", async () => {
    const engine = /^src\/(operations\/|queue\/run|engine\/(decide|sharding\/|kinds\/(refilling|slidingWindow|limit)))/;
    for (const name of ["component", "component: queue", "component: http"] as const) {
      expect((await modulesIn(name)).filter((file) => engine.test(file))).toEqual([]);
    }
    // The names are right: where it is loaded, they are found.
    const worker = (await modulesIn("inside: queue worker")).filter((file) => engine.test(file));
    expect(worker).toEqual(
      expect.arrayContaining(["src/queue/run.ts", "src/engine/decide.ts", "src/engine/kinds/limit.ts"]),
    );
  });

  it("cost less than the official client and component together, and load as fast as the official client", async () => {
    const cases = ["tables", "component", "inside: public", "official", "official, inside"] as const;
    const loads = await measureLoads("minified", cases, 100);
    const of = (name: (typeof cases)[number]): Load => loads.get(name) ?? { load: NaN, call: NaN };
    const [tables, component, inside] = [of("tables"), of("component"), of("inside: public")];
    const [client, official] = [of("official"), of("official, inside")];
    // Measured: 0.9 and 1.0, and 1.7 for the official ones. Without the lazy definitions of version 3 they were 2.9 and 5.
    expect(tables.call).toBeLessThan(client.call + official.call);
    expect(component.call + inside.call).toBeLessThan(client.call + official.call);
    // Measured: 0.30 and 0.20, and 0.49 for the official client. With tables of fields and kinds made at load they were 0.7 and 0.5.
    expect(tables.load).toBeLessThan(1.2 * client.load);
    expect(component.load).toBeLessThan(client.load);
  });
});
