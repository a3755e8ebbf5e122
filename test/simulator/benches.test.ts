// @vitest-environment node
/** A small run of each bench, so that they cannot rot. What the figures say is not judged here, only that they hang together. */
import { describe, expect, it } from "vitest";
import { DEFAULTS, runContention } from "../../bench/contention.js";
import { drawContention } from "../../bench/contention/picture.js";
import { flashCrowd, reservations, reshard } from "../../bench/contention/scenarios.js";
import { renderCase } from "../../bench/contention/tables.js";
import { renderEngine, runEngine } from "../../bench/engine.js";
import { renderSeed, runSeed } from "../../bench/seed.js";
import { ours } from "../../bench/simulator/ours.js";
import { peer } from "../../bench/simulator/peer.js";
import { simulate } from "../../bench/simulator/simulation.js";

describe("bench:contention", () => {
  it("runs every design through every load, judges it, and reports tables and a picture", async () => {
    const results = await runContention({
      ...DEFAULTS,
      scenarios: ["load"],
      rates: [40],
      counts: ["one", "mixed"],
      kinds: ["token bucket", "fixed window"],
      patterns: ["poisson", "bursty"],
      homes: ["tables", "component"],
      designs: [4, 16, "auto", "async"],
      seconds: 1,
      probes: 3,
    });
    expect(results).toHaveLength(2 * 2 * 2 * 2);
    for (const { case: one, metrics } of results) {
      expect(metrics.map(({ label }) => label)).toEqual([
        ...["ours 4", "ours 4 (component)", "ours 16", "ours 16 (component)", "ours auto", "ours auto (component)"],
        ...["official 4", "official 16", "official async"],
      ]);
      for (const m of metrics) {
        expect(m).toMatchObject({ threw: 0, firstError: undefined });
        expect(m.calls).toBe(metrics[0]?.calls);
        expect(m.possible).toBe(metrics[0]?.possible);
        if (m.library === "ours") expect(m.overGrant, `${m.label}, ${one.title}`).toBe(0);
      }
      expect(renderCase({ case: one, metrics })).toContain("| ours 16 / official 16 ");
    }
    const picture = drawContention(results);
    expect(picture).toMatch(/^<svg [^]*<\/svg>\n$/);
    expect(picture).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("runs the flash crowd, a change of shards and reservations", async () => {
    for (const { scenario } of [flashCrowd(40, "fixed window"), reshard(30, "walk 1 … 64 … 1"), reservations(1.2)]) {
      const [own, official] = [await simulate(ours(16), scenario, run), await simulate(peer(16), scenario, run)];
      expect(own).toMatchObject({ threw: 0, overGrant: 0, calls: official.calls });
      expect(official).toMatchObject({ threw: 0, possible: own.possible });
      expect(renderCase({ case: { title: "small", scenario }, metrics: [own, official] })).toContain("### small");
    }
  });
});

const run = { seed: "small" };

describe("bench:engine", () => {
  it("races decisions and calls, and counts costs", async () => {
    const results = await runEngine({ decisions: 200, calls: 3, rounds: 1 });
    expect(results.decisions.map(({ kind }) => kind)).toEqual(["token bucket", "fixed window"]);
    for (const { perSecond } of [...results.calls, ...results.decisions.flatMap(({ standings }) => standings)]) {
      expect(perSecond).toBeGreaterThan(0);
    }
    const allowed = results.costs.filter(({ situation }) => situation === "allowed");
    expect(allowed.find(({ label }) => label === "ours 1")?.cost).toEqual({
      rangesRead: 1,
      rowsRead: 1,
      rowsWritten: 1,
      storeCalls: 2,
      hops: 0,
    });
    expect(allowed.find(({ label }) => label === "official 16")?.cost).toMatchObject({ rangesRead: 2, hops: 1 });
    expect(renderEngine(results)).not.toMatch(/NaN|undefined/);
  });
});

describe("bench:seed", () => {
  it("compares closed-loop callers on one key and on keys of their own", async () => {
    const results = await runSeed({ callers: [1, 8], seconds: 1, seed: "small" });
    expect(results.map(({ keys, callers }) => [keys, callers])).toEqual([
      ["shared", 1],
      ["shared", 8],
      ["own", 1],
      ["own", 8],
    ]);
    for (const { metrics } of results) {
      for (const m of metrics) expect(m.threw).toBe(0);
      for (const m of metrics) if (m.library === "ours") expect(m.overGrant).toBe(0);
    }
    expect(renderSeed(results)).toContain("### 8 callers, one key each");
  });
});
