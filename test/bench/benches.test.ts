/** A small run of each bench, so that a broken bench fails a test. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULTS, runContention } from "../../bench/contention.js";
import { drawContention } from "../../bench/contention/picture.js";
import { CASE_NAMES, CASES } from "../../bench/contention/scenarios.js";
import { renderCase } from "../../bench/contention/tables.js";
import { renderEngine, runEngine } from "../../bench/engine.js";
import { renderJoining, runJoining } from "../../bench/joining.js";
import { calls, draw, lanesOf } from "../../bench/kinds.js";
import { renderSeed, runSeed } from "../../bench/seed.js";

describe("bench:contention", () => {
  it.each(CASE_NAMES)("runs a small %s with every design, judges it and reports it", async (name) => {
    const classes = name === "load-100" ? (["S256", "S16"] as const) : (["S256"] as const);
    const { official, scenario } = CASES[name](DEFAULTS);
    // The official component lacks sliding windows, and most operations beside the calls.
    const hasPeer = official.length > 0;
    // How often closed-loop callers call depends on the answers.
    const isOpen = scenario.callers.kind !== "closed";
    const [result] = await runContention({ ...DEFAULTS, cases: [name], classes, seconds: 0.05 });
    expect(result?.runs.map(({ platform }) => platform)).toEqual(classes);
    for (const { metrics } of result?.runs ?? []) {
      const [first] = metrics;
      expect(new Set(metrics.map(({ library }) => library))).toEqual(new Set(hasPeer ? ["ours", "peer"] : ["ours"]));
      expect(first?.calls).toBeGreaterThan(0);
      for (const m of metrics) {
        expect(m).toMatchObject({ threw: 0, firstError: undefined, possible: first?.possible });
        expect(m.operations).toMatchObject({ threw: 0, firstError: undefined });
        if (isOpen) expect(m.calls).toBe(first?.calls);
        // A reset near the end leaves no row.
        if (!name.startsWith("reset")) expect(m.rowsAtEnd).toBeGreaterThan(0);
        if (m.library === "ours") expect(m.overGrant, m.label).toBe(0);
      }
    }
    const report = result ? renderCase(result) : "";
    expect(report).toContain(`(\`${name}\`)`);
    expect(/\| ours (auto|1) \/ official \d+ /.test(report)).toBe(hasPeer);
    expect(report).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("draws one line per design through the loads that it ran, in the order of their rates", async () => {
    const options = { ...DEFAULTS, classes: ["S256"], seconds: 0.1 } as const;
    // The picture has no place for a step.
    const small = await runContention({ ...options, cases: ["load-100", "step"], official: [16, 64, "async"] });
    const large = await runContention({ ...options, cases: ["load-3000"], official: [64] });
    const picture = drawContention([...large, ...small]);
    expect(picture).toMatch(/^<svg [^]*<\/svg>\n$/);
    expect(picture).not.toMatch(/NaN|undefined|Infinity/);
    expect(picture.match(/class="tick"[^>]*>[^<]*/g)?.map((tick) => tick.split(">")[1])).toEqual(["100/s", "3,000/s"]);
    const points = [...picture.matchAll(/<polyline class="s(\d)[^>]*points="([^"]*)"/g)];
    const drawn = points.map(([, series, line]) => `${series}: ${line?.split(" ").length}`);
    expect(drawn).toEqual(["3: 1", "2: 1", "1: 2", "0: 2"]);
  });
});

it("bench:engine compares the speed of decisions and calls, and counts costs", async () => {
  const results = await runEngine({ decisions: 200, calls: 3, rounds: 1 });
  expect(results.decisions.map(({ kind }) => kind)).toEqual(["token bucket", "fixed window"]);
  for (const { perSecond } of [...results.calls, ...results.decisions.flatMap(({ standings }) => standings)]) {
    expect(perSecond).toBeGreaterThan(0);
  }
  const allowed = results.costs.filter(({ situation }) => situation === "allowed");
  const cost = { rangesRead: 1, rowsRead: 1, rowsReread: 1, readRounds: 1, rowsWritten: 1, storeCalls: 2, hops: 0 };
  expect(allowed.find(({ label }) => label === "ours 1")?.cost).toEqual(cost);
  expect(allowed.find(({ label }) => label === "official 16")?.cost).toMatchObject({ rangesRead: 2, hops: 1 });
  expect(renderEngine(results)).not.toMatch(/NaN|undefined/);
});

it("bench:seed compares closed-loop callers on one key and on keys of their own", async () => {
  const results = await runSeed({ callers: [1, 8], seconds: 1, seed: "small" });
  expect(results.map(({ keys, callers }) => `${callers} ${keys}`)).toEqual(["1 shared", "8 shared", "1 own", "8 own"]);
  for (const { metrics } of results) {
    for (const m of metrics) expect(m.threw).toBe(0);
    for (const m of metrics) if (m.library === "ours") expect(m.overGrant).toBe(0);
  }
  expect(renderSeed(results)).toContain("### 8 callers, one key each");
});

it("bench:joining: a sliding window grants as much as an exact log at a rate of up to 64, and less above it", () => {
  const results = runJoining({ rates: [1, 64, 300], periods: 30, seed: "test" });
  for (const { rate, random, saturated } of results) {
    expect(saturated.ours).toBeLessThanOrEqual(saturated.exact);
    if (rate > 64) expect(random.ours).toBeLessThan(random.exact);
    else expect([random.ours, saturated.ours]).toEqual([random.exact, saturated.exact]);
  }
  expect(renderJoining(results).match(/^\| \d/gm)).toHaveLength(3);
});

/** The picture of docs/choosing.md. */
it("kinds.svg shows that each of four kinds keeps its own bound under sixty calls", () => {
  const [bucket = 0, window = 0, day = 0, sliding = 0] = lanesOf(calls()).map(({ most }) => most);
  expect(calls()).toHaveLength(60);
  expect(Math.max(bucket, window, day)).toBeLessThanOrEqual(20);
  expect(day).toBeGreaterThan(10);
  expect(sliding).toBe(10);
});

it("kinds.svg is in the docs as the script draws it", () => {
  const file = path.resolve(import.meta.dirname, "../../docs/pictures/kinds.svg");
  expect(readFileSync(file, "utf8")).toBe(draw());
});
