/** A small run of each bench, so that they cannot rot; and of the loads that hot limits are made for, so that their figures hold. */
import { describe, expect, it } from "vitest";
import { DEFAULTS, runContention } from "../../bench/contention.js";
import { drawContention } from "../../bench/contention/picture.js";
import { type CaseName, CASE_NAMES } from "../../bench/contention/scenarios.js";
import { renderCase } from "../../bench/contention/tables.js";
import { renderEngine, runEngine } from "../../bench/engine.js";
import { renderSeed, runSeed } from "../../bench/seed.js";
import { effort } from "../support/random.js";

describe("bench:contention", () => {
  // More calls of the same scenarios take most of the time.
  const cases = CASE_NAMES.filter((name) => effort >= 1 || !/x3$|-3000/.test(name));
  it.each(cases)("runs a small %s with every design, judges it and reports it", async (name) => {
    const classes = name === "load-100" ? (["S256", "S16"] as const) : (["S256"] as const);
    // The official component has no sliding windows, so those loads have nothing beside ours.
    const hasPeer = !name.includes("sliding");
    const [result] = await runContention({ ...DEFAULTS, cases: [name], classes, seconds: 0.05 });
    expect(result?.runs.map(({ platform }) => platform)).toEqual(classes);
    for (const { metrics } of result?.runs ?? []) {
      const [first] = metrics;
      expect(new Set(metrics.map(({ library }) => library))).toEqual(new Set(hasPeer ? ["ours", "peer"] : ["ours"]));
      expect(first?.calls).toBeGreaterThan(0);
      for (const m of metrics) {
        expect(m).toMatchObject({ threw: 0, firstError: undefined, calls: first?.calls, possible: first?.possible });
        expect(m.rowsAtEnd).toBeGreaterThan(0);
        if (m.library === "ours") expect(m.overGrant, m.label).toBe(0);
      }
    }
    const report = result ? renderCase(result) : "";
    expect(report).toContain(`(\`${name}\`)`);
    expect(/\| ours (auto|1) \/ official \d+ /.test(report)).toBe(hasPeer);
    expect(report).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("draws the loads", async () => {
    const cases = ["load-100", "step"] as const;
    const results = await runContention({
      ...DEFAULTS,
      cases,
      classes: ["S256"],
      seconds: 0.1,
      official: [4, "async"],
      ours: [4],
    });
    const picture = drawContention(results);
    expect(picture).toMatch(/^<svg [^]*<\/svg>\n$/);
    expect(picture).toContain(">100/s<");
    expect(picture).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("draws no bar for a design that a load was not run with", async () => {
    const options = { ...DEFAULTS, classes: ["S256"], seconds: 0.1 } as const;
    const [small] = await runContention({ ...options, cases: ["load-100"], official: [16, 64] });
    const [large] = await runContention({ ...options, cases: ["load-3000"], official: [64] });
    const bars = (results: Parameters<typeof drawContention>[0]) =>
      drawContention(results).match(/<rect class="s\d" [^>]*width="(?!11")/g)?.length;
    expect(bars([small, large].flatMap((result) => result ?? []))).toBe(3 * (3 + 2));
  });
});

/** What docs/benchmarks.md says of `auto` with 256 permits, as far as seconds show it. EFFORT=1 runs the heavy loads as well. */
describe("auto", () => {
  const runAuto = async (name: CaseName, seconds: number) => {
    const options = { ...DEFAULTS, cases: [name], classes: ["S256"], ours: ["auto"], official: [], seconds } as const;
    const [result] = await runContention(options);
    const metrics = result?.runs[0]?.metrics[0];
    if (!metrics) throw new Error(`${name} did not run.`);
    expect(metrics.overGrant).toBe(0);
    return { ...metrics, rowsPerKey: metrics.rowsAtEnd / metrics.keys };
  };

  it("keeps cold keys on one row, read once a call", async () => {
    const { rowsPerKey, perCall } = await runAuto("cold-keys", 10);
    expect(rowsPerKey).toBeLessThanOrEqual(1.1);
    expect(perCall.rangesRead).toBeLessThanOrEqual(1.05);
  });

  it("splits a key of 20 calls within a second into four rows at most", async () => {
    expect((await runAuto("herd-20", 1)).rowsPerKey).toBeLessThanOrEqual(4);
  });

  const steady = [
    // The first seconds, in which rows still split.
    { name: "load-1000", seconds: 3, attempts: 1.09, admitted: 0.995, failures: 0 },
    ...(effort < 1
      ? []
      : ([
          { name: "load-1000", seconds: 10, attempts: 1.08, admitted: 0.995, failures: 0 },
          { name: "load-1000x3", seconds: 4, attempts: 1.12, admitted: 0.97, failures: 0 },
          { name: "load-3000x3", seconds: 1, attempts: 1.3, admitted: 0.9, failures: 0.001 },
        ] as const)),
  ] as const;
  it.each(steady)(
    "serves $name with few conflicts, and loses little",
    async ({ name, seconds, attempts, admitted, failures }) => {
      const { attemptsPerCall, failed, utilisation } = await runAuto(name, seconds);
      expect(attemptsPerCall).toBeLessThanOrEqual(attempts);
      expect(failed).toBeLessThanOrEqual(failures);
      expect(utilisation).toBeGreaterThanOrEqual(admitted);
    },
  );

  it("survives a step from 1/s to 1000/s", async () => {
    expect((await runAuto("step", 1)).failed).toBeLessThan(0.01);
  });

  it.each(["flash-crowd", "flash-crowd-windows"] as const)(
    "denies with three rows read at most after a %s",
    async (name) => {
      const { admitted, attemptsPerCall, perDenial, falseDenials } = await runAuto(name, 10);
      expect(admitted).toBe(1000);
      expect(falseDenials).toBe(0);
      expect(attemptsPerCall).toBeLessThanOrEqual(1.1);
      expect(perDenial.rowsRead).toBeLessThanOrEqual(3);
    },
  );

  /** What docs/benchmarks.md says of the registry. */
  it("fails no call of a registry's API, at whose load 16 shards of the official component fail", async () => {
    const options = { ...DEFAULTS, cases: ["registry"], classes: ["S256"], official: [16], seconds: 4 } as const;
    const [result] = await runContention(options);
    const [tables, component, official] = result?.runs[0]?.metrics ?? [];
    for (const own of [tables, component]) {
      expect(own).toMatchObject({ library: "ours", failed: 0, overGrant: 0 });
      expect(own?.attemptsPerCall).toBeLessThanOrEqual(1.06);
    }
    expect(official?.failed).toBeGreaterThan(0.005);
    expect(official?.attemptsPerCall).toBeGreaterThan(1.4);
  });

  // Each of its calls asks several limits, so it takes four times as long as the others.
  if (effort >= 1) {
    it("does not run a bundle again because of its cold limits", async () => {
      expect((await runAuto("bundle", 1.5)).attemptsPerCall).toBeLessThanOrEqual(1.09);
    });
  }
});

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
      rowsReread: 1,
      readRounds: 1,
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
