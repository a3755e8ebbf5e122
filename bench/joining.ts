/** `npm run bench:joining` measures what a sliding window loses by joining times when its row holds 64. See docs/kinds.md. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { decide } from "../src/engine/decide.js";
import { fullState } from "../src/engine/kinds/kind.js";
import { parseLimit } from "../src/engine/kinds/limit.js";
import { demandOf } from "../src/engine/request.js";
import { fromStored, toStored } from "../src/engine/units.js";
import { isProgram, parseNumbers, versionLine } from "./report/commandLine.js";
import { markdownTable, percent } from "./report/markdown.js";
import { createRandom, exponential } from "../tools/simulator/random.js";

export interface JoiningOptions {
  /** Tokens per period. */
  readonly rates: readonly number[];
  /** The number of periods that are counted. One period before them is not counted. */
  readonly periods: number;
  readonly seed: string;
}

export const DEFAULTS: JoiningOptions = { rates: [1, 10, 64, 100, 300, 1000, 3000, 10_000], periods: 100, seed: "1" };

const PERIOD_MS = 60_000;
/** The time at which counting begins: one period after the first arrivals, so that the window has filled. */
const BEGIN = Date.UTC(2026, 0, 1);

/** The tokens started in the counted periods, as a share of `rate` tokens per period. */
export interface JoiningResult {
  readonly rate: number;
  /** Under Poisson arrivals of 1.5 × rate, for our window and for one that keeps every time. */
  readonly random: { readonly ours: number; readonly exact: number };
  /** Under callers that retry at every `retryAt`, after one period of Poisson arrivals. */
  readonly saturated: { readonly ours: number; readonly exact: number };
}

/** One window: takes a token, or returns when to retry. */
type Ask = (now: number) => { ok: boolean; retryAt?: number | undefined };

export function runJoining({ rates, periods, seed }: JoiningOptions): JoiningResult[] {
  return rates.map((rate) => ({
    rate,
    random: {
      ours: randomLoad(ourWindow(rate), { rate, periods, seed }),
      exact: randomLoad(exactWindow(rate), { rate, periods, seed }),
    },
    saturated: {
      ours: saturatingLoad(ourWindow(rate), { rate, periods, seed }),
      exact: saturatingLoad(exactWindow(rate), { rate, periods, seed }),
    },
  }));
}

function ourWindow(rate: number): Ask {
  const limit = parseLimit("joining", { kind: "sliding window", rate, period: PERIOD_MS });
  const demand = demandOf(limit, {});
  let state = fullState(limit);
  return (now) => {
    const { status, taken } = decide(limit, state, { now, pausedUntil: 0 }, demand);
    // The state is stored and read again, as it is between two calls: a row holds 64 times.
    state = taken ? fromStored(limit, toStored(limit, taken), undefined) : state;
    return status;
  };
}

/** A window that keeps the time of every token. It shares no code with src/. */
function exactWindow(rate: number): Ask {
  const starts: number[] = [];
  return (now) => {
    // A new token needs the one `rate` tokens before it to have left the window.
    const retryAt = (starts.at(-rate) ?? -Infinity) + PERIOD_MS;
    if (retryAt > now) return { ok: false, retryAt };
    starts.push(now);
    return { ok: true };
  };
}

type Load = Omit<JoiningOptions, "rates"> & { readonly rate: number };

function randomLoad(ask: Ask, { rate, periods, seed }: Load): number {
  let started = 0;
  for (const now of arrivals(rate, seed, periods)) if (ask(now).ok && now >= BEGIN) started++;
  return started / (rate * periods);
}

function saturatingLoad(ask: Ask, { rate, periods, seed }: Load): number {
  for (const now of arrivals(rate, seed, 0)) ask(now);
  let started = 0;
  let now = BEGIN;
  while (now < BEGIN + periods * PERIOD_MS) {
    const { ok, retryAt = now } = ask(now);
    if (ok) started++;
    else now = retryAt;
  }
  return started / (rate * periods);
}

/** The times of the Poisson arrivals, which begin one period before the counted ones. */
function* arrivals(rate: number, seed: string, periods: number): Generator<number> {
  const random = createRandom(`${seed} ${rate}`);
  const mean = PERIOD_MS / (1.5 * rate);
  for (let at = BEGIN - PERIOD_MS; ;) {
    at += exponential(random, mean);
    if (at >= BEGIN + periods * PERIOD_MS) return;
    yield Math.floor(at);
  }
}

export function renderJoining(results: readonly JoiningResult[]): string {
  const head = ["tokens per period", "random: exact log", "random: 64 times", "lost", "saturated: 64 times", "lost"];
  const lost = ({ ours, exact }: { ours: number; exact: number }) => percent(1 - ours / exact);
  const rows = results.map(({ rate, random, saturated }) => [
    rate.toLocaleString("en"),
    percent(random.exact, 1),
    percent(random.ours, 1),
    lost(random),
    percent(saturated.ours, 1),
    lost(saturated),
  ]);
  return `Versions: ${versionLine(["convex-rate-limits", "node"])}.\n\n${markdownTable(head, rows)}`;
}

function main(): void {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { rates: text, periods: text, seed: text, markdown: text } });
  const options: JoiningOptions = {
    rates: values.rates ? parseNumbers(values.rates) : DEFAULTS.rates,
    periods: Number(values.periods ?? DEFAULTS.periods),
    seed: values.seed ?? DEFAULTS.seed,
  };
  const report = renderJoining(runJoining(options));
  console.log(report);
  if (values.markdown) writeFileSync(values.markdown, `${report}\n`);
}

if (isProgram(import.meta.url)) main();
