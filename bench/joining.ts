/** `npm run bench:joining`: what a sliding window loses by joining moments when its row holds 64 of them. See docs/kinds.md. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { decide } from "../src/engine/decide.js";
import { fullState } from "../src/engine/kinds/kind.js";
import { parseLimit } from "../src/engine/limit.js";
import { parseDemand } from "../src/engine/request.js";
import { fromStored, toStored } from "../src/engine/units.js";
import { isProgram, parseNumbers, versionLine } from "./report/commandLine.js";
import { markdownTable, percent } from "./report/markdown.js";
import { createRandom, exponential } from "./simulator/random.js";

export interface JoiningOptions {
  /** Tokens per period. */
  readonly rates: readonly number[];
  /** How many periods are counted, after one that is not. */
  readonly periods: number;
  readonly seed: string;
}

export const DEFAULTS: JoiningOptions = { rates: [1, 10, 64, 100, 300, 1000, 3000, 10_000], periods: 100, seed: "1" };

const PERIOD_MS = 60_000;
/** The moment at which counting begins: after a period in which the window fills. */
const BEGIN = Date.UTC(2026, 0, 1);

/** Tokens started in the counted periods, as a share of `rate` in each of them. */
export interface JoiningResult {
  readonly rate: number;
  /** Arrivals of a Poisson process of 1.5 × rate: our window, and one that forgets nothing. */
  readonly random: { readonly ours: number; readonly exact: number };
  /** After a period of such arrivals, callers that ask again at every `retryAt`. */
  readonly saturated: { readonly ours: number; readonly exact: number };
}

/** One window: takes a token, or says when to come back. */
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
  const demand = parseDemand(limit, {});
  let state = fullState(limit);
  return (now) => {
    const { status, taken } = decide(limit, state, now, demand);
    // As from call to call: a row holds 64 moments.
    state = taken ? fromStored(limit, toStored(limit, taken), undefined) : state;
    return status;
  };
}

/** Remembers every token. It shares nothing with src/. */
function exactWindow(rate: number): Ask {
  const starts: number[] = [];
  return (now) => {
    // The token that has to leave first for this one.
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

/** From a period before the counted ones on. */
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
  const head = [
    "tokens per period",
    "random: exact log",
    "random: 64 moments",
    "lost",
    "saturated: 64 moments",
    "lost",
  ];
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
