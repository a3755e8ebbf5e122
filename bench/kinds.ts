/** `npm run pictures` draws docs/pictures/kinds.svg with this, for docs/choosing.md: the same 60 calls on each kind of limit. */
import { writeFileSync } from "node:fs";
import type { RateLimitConfig } from "../src/wire/configs.js";
import { decide } from "../src/engine/decide.js";
import { fullState } from "../src/engine/kinds/kind.js";
import { parseLimit } from "../src/engine/kinds/limit.js";
import { demandOf } from "../src/engine/request.js";
import { drawLanes, type Lane } from "./kinds/lanes.js";
import { isProgram } from "./report/commandLine.js";
import { createRandom, exponential } from "../tools/simulator/random.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Three days in Berlin. The second has 23 hours, because the clocks go from 2:00 to 3:00. */
const BEGIN = Date.parse("2026-03-27T23:00:00Z");
const MIDNIGHTS = [BEGIN, Date.parse("2026-03-28T23:00:00Z"), Date.parse("2026-03-29T22:00:00Z")];
const END = Date.parse("2026-03-30T22:00:00Z");

const RATE = 10;

/** The limits, of 10 a day each. The capacity of the token bucket and of the fixed windows is the default, also 10. */
const CONFIGS: readonly (readonly [title: string, config: RateLimitConfig])[] = [
  ["token bucket", { kind: "token bucket", rate: RATE, period: DAY_MS }],
  [
    "fixed window of 24 hours, from 9:00",
    { kind: "fixed window", rate: RATE, period: DAY_MS, start: BEGIN + 9 * HOUR_MS },
  ],
  ["fixed window of a day in Berlin", { kind: "fixed window", rate: RATE, period: "day", timeZone: "Europe/Berlin" }],
  ["sliding window of 24 hours", { kind: "sliding window", rate: RATE, period: DAY_MS }],
];

/** Sixty calls: forty at random times over the three days, and twenty around the midnight after the first day. */
export function calls(): number[] {
  const random = createRandom("kinds");
  const all = Array.from({ length: 20 }, (_, i) => (MIDNIGHTS[1] ?? 0) + (i - 10) * 0.1 * HOUR_MS);
  for (let at = BEGIN; all.length < 60;) {
    at += exponential(random, (END - BEGIN) / 42);
    all.push(BEGIN + ((at - BEGIN) % (END - BEGIN)));
  }
  return all.map(Math.floor).sort((a, b) => a - b);
}

/** The lane of each limit. `most` is the largest number of calls that it allowed in any 24 hours. */
export function lanesOf(times: readonly number[]): (Lane & { most: number })[] {
  return CONFIGS.map(([title, config]) => {
    const limit = parseLimit("kinds", config);
    let state = fullState(limit);
    const dots = times.map((at) => {
      const { status, taken } = decide(limit, state, { now: at, pausedUntil: 0 }, demandOf(limit, {}));
      state = taken ?? state;
      return { at, ok: status.ok };
    });
    const allowed = dots.filter(({ ok }) => ok).map(({ at }) => at);
    const inADay = allowed.map((from) => allowed.filter((at) => at >= from && at < from + DAY_MS).length);
    const most = Math.max(...inADay);
    const notes = `${allowed.length} of ${times.length} allowed; at most ${most} in 24 hours`;
    return { title, notes, most, dots, starts: startsOf(config) };
  });
}

/** The times at which the windows of a fixed window start; none for the other kinds. */
function startsOf(config: RateLimitConfig): readonly number[] {
  if (config.kind !== "fixed window") return [];
  if (typeof config.period === "string") return MIDNIGHTS;
  const { start = 0 } = config;
  return [0, 1, 2].map((day) => start + day * DAY_MS);
}

export function draw(): string {
  return drawLanes({
    title: "The same 60 calls, 10 allowed a day",
    subtitle: "28 to 30 March 2026 in Berlin; the second day has 23 hours. Lines are starts of windows.",
    from: BEGIN,
    to: END,
    ticks: MIDNIGHTS.map((at, i) => ({ at, label: `${28 + i} March` })),
    lanes: lanesOf(calls()),
  });
}

function main(): void {
  const file = new URL("../docs/pictures/kinds.svg", import.meta.url);
  writeFileSync(file, draw());
  console.log(file.pathname);
}

if (isProgram(import.meta.url)) main();
