/** What a run showed, in numbers. */
import { addCost, type Cost, noCost } from "./cost.js";
import type { Design, Shards } from "./design.js";
import { type Grant, meanWait, overGrant, possible, sum } from "./oracle.js";
import type { Probes, Request, RunOptions, Scenario } from "./simulation.js";

export interface Metrics {
  readonly label: string;
  readonly library: "ours" | "peer";
  readonly shards: Shards;
  readonly calls: number;
  readonly attemptsPerCall: number;
  /** Share of the calls that failed after their last retry. */
  readonly failed: number;
  /** Share of the calls whose code threw. */
  readonly threw: number;
  readonly firstError: string | undefined;
  /** From the call to its answer or failure. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perCall: Cost;
  /** What scheduled functions did beside the calls, per call. */
  readonly backgroundPerCall: Cost;
  readonly admittedCalls: number;
  readonly deniedCalls: number;
  /** Tokens. */
  readonly admitted: number;
  /** Tokens admitted before the last arrival was due; later ones, after long retries, had more time to accrue. */
  readonly admittedInTime: number;
  /** Tokens that one exact bucket would have admitted of the same arrivals; with reservations all of them. */
  readonly possible: number;
  /** `admittedInTime / possible` */
  readonly utilisation: number;
  /** Tokens beyond the bound. */
  readonly overGrant: number;
  /** Share of the probed denials whose retryAt sufficed; undefined when none was probed. */
  readonly honest: number | undefined;
  /** The same, one millisecond after retryAt. */
  readonly honestOneMsLater: number | undefined;
  readonly probes: number;
  /** With reservations: the mean wait of the admitted calls, and of one exact bucket's. */
  readonly meanWaitMs: number;
  readonly exactMeanWaitMs: number;
}

interface Run {
  readonly design: Design;
  readonly scenario: Scenario;
  readonly options: RunOptions;
  readonly requests: readonly Request[];
  readonly probes: Probes;
  readonly background: Cost;
}

export function measure({ design, scenario, options, requests, probes, background }: Run): Metrics {
  const calls = Math.max(1, requests.length);
  const cost = noCost();
  let attempts = 0;
  for (const { call } of requests) {
    addCost(cost, call.cost);
    attempts += call.attempts;
  }
  const latencies = requests.map(({ call }) => call.endedMs - call.startedMs).sort((a, b) => a - b);
  const threw = requests.flatMap(({ call }) => (call.outcome.kind === "threw" ? [call.outcome.error] : []));
  const admitted = requests.filter(({ call }) => call.outcome.kind === "committed" && call.outcome.value.ok);
  const denied = requests.filter(({ call }) => call.outcome.kind === "committed" && !call.outcome.value.ok);
  const { limit } = scenario;
  const buckets = [...byKey(requests).values()];
  // Reservations without bound are never denied.
  const mostPossible = scenario.reserve
    ? sum(requests)
    : buckets.reduce((total, bucket) => total + possible(limit, bucket.map(arrivalOf)), 0);
  const spreadMs = 2 * (options.skewMs ?? 0);
  const over = [...byKey(admitted).values()].map((bucket) => overGrant(limit, bucket.map(grantOf), spreadMs));
  const inTime = sum(admitted.filter(({ call }) => call.decidedMs < scenario.seconds * 1000));
  return {
    label: design.label,
    library: design.library,
    shards: design.shards,
    calls: requests.length,
    attemptsPerCall: attempts / calls,
    failed: requests.filter(({ call }) => call.outcome.kind === "exhausted").length / calls,
    threw: threw.length / calls,
    firstError: threw.length > 0 ? String(threw[0]) : undefined,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    perCall: divided(cost, calls),
    backgroundPerCall: divided(background, calls),
    admittedCalls: admitted.length,
    deniedCalls: denied.length,
    admitted: sum(admitted),
    possible: mostPossible,
    admittedInTime: inTime,
    utilisation: inTime / Math.max(1, mostPossible),
    overGrant: Math.max(0, ...over),
    honest: probes.asked > 0 ? probes.sufficed / probes.asked : undefined,
    honestOneMsLater: probes.asked > 0 ? (probes.sufficed + probes.nearly) / probes.asked : undefined,
    probes: probes.asked,
    meanWaitMs: mean(admitted.map((request) => grantOf(request).atMs - request.call.clock)),
    exactMeanWaitMs: scenario.reserve ? mean(buckets.map((bucket) => meanWait(limit, bucket.map(arrivalOf)))) : 0,
  };
}

function byKey(requests: readonly Request[]): Map<string | undefined, Request[]> {
  const buckets = new Map<string | undefined, Request[]>();
  for (const request of requests) {
    const bucket = buckets.get(request.key);
    if (bucket) bucket.push(request);
    else buckets.set(request.key, [request]);
  }
  return buckets;
}

function arrivalOf({ atMs, count }: Request): Grant {
  return { atMs: Math.floor(atMs), count };
}

/** An admission counts when its work may start: now, or when its reservation runs. */
function grantOf({ count, call: { outcome, clock } }: Request): Grant {
  const retryAt = outcome.kind === "committed" ? outcome.value.retryAt : undefined;
  return { atMs: retryAt ?? clock, count };
}

/** The smallest value that is not below the given share of all. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / Math.max(1, values.length);
}

function divided(cost: Cost, by: number): Cost {
  const { rangesRead, rowsRead, rowsWritten, storeCalls, hops } = cost;
  return {
    rangesRead: rangesRead / by,
    rowsRead: rowsRead / by,
    rowsWritten: rowsWritten / by,
    storeCalls: storeCalls / by,
    hops: hops / by,
  };
}
