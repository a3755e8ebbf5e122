/** The figures of a run. */
import { addCost, type Cost, dividedCost, noCost } from "./cost.js";
import type { Call } from "./backend.js";
import type { Answer, Design, Shards } from "./design.js";
import { falseDenials, type Grant, meanWait, overGrant, possible, sum } from "./oracle.js";
import type { Operated, Probes, Request, RunOptions, Scenario } from "./scenario.js";

export interface Metrics {
  readonly label: string;
  readonly library: "ours" | "peer";
  readonly shards: Shards;
  readonly calls: number;
  readonly attemptsPerCall: number;
  /** The share of the calls that the platform gave up on: after the last retry, or because they got no permit. */
  readonly failed: number;
  /** The share of the calls that got no permit. */
  readonly overloaded: number;
  /** How often a client sent a call on average, including the first time. */
  readonly sendsPerCall: number;
  /** The share of the calls whose code threw. */
  readonly threw: number;
  readonly firstError: string | undefined;
  /** The median time from a call to its answer or failure. */
  readonly p50Ms: number;
  /** The 99th percentile of these times. */
  readonly p99Ms: number;
  readonly perCall: Cost;
  /** The mean cost of the attempts that denied. */
  readonly perDenial: Cost;
  /** The cost of scheduled functions, per call. It is not part of `perCall`. */
  readonly backgroundPerCall: Cost;
  readonly keys: number;
  /** The limit's rows at the end of the run. */
  readonly rowsAtEnd: number;
  readonly admittedCalls: number;
  readonly deniedCalls: number;
  /** The share of the denials at a time when one exact bucket, after the same grants, held the tokens. */
  readonly falseDenials: number;
  /** Tokens admitted. */
  readonly admitted: number;
  /** Tokens admitted in the counted part of the run. Calls that were still retrying after it had more time to accrue. */
  readonly admittedInTime: number;
  /** Tokens that one exact bucket would have admitted of the same arrivals. With reservations these are all tokens. */
  readonly possible: number;
  /** `admittedInTime / possible` */
  readonly utilisation: number;
  /** Tokens beyond the bound, in the whole run: those of the bucket that exceeded it most. */
  readonly overGrant: number;
  /** The share of the probed denials whose retryAt sufficed; undefined if none was probed. */
  readonly honest: number | undefined;
  /** The same, one millisecond after retryAt. */
  readonly honestOneMsLater: number | undefined;
  readonly probes: number;
  readonly operations: OperationFigures;
  /** The longest time from a caller's first call for its tokens to its success, in the counted part of the run. */
  readonly longestWaitMs: number;
  /** With reservations: the mean wait of the admitted calls. */
  readonly meanWaitMs: number;
  /** With reservations: the mean wait that one exact bucket would have given to the same calls. */
  readonly exactMeanWaitMs: number;
}

/** The figures of the operations beside the calls, in the counted part of the run. */
export interface OperationFigures {
  readonly calls: number;
  readonly attemptsPerCall: number;
  /** The share of the operations that the platform gave up on. */
  readonly failed: number;
  readonly threw: number;
  readonly firstError: string | undefined;
  readonly p99Ms: number;
  readonly perCall: Cost;
  /** Tokens that were used and whose charge failed, as a share of those that were used. */
  readonly uncharged: number;
}

interface Run {
  readonly design: Design;
  readonly scenario: Scenario;
  readonly options: RunOptions;
  readonly requests: readonly Request[];
  readonly operations: readonly Operated[];
  readonly probes: Probes;
  readonly background: Cost;
  readonly rowsAtEnd: number;
}

export function measure(run: Run): Metrics {
  const { design, scenario, options, requests: all, operations, probes, background, rowsAtEnd } = run;
  const { limit, measured: { fromMs, toMs } = { fromMs: 0, toMs: Infinity } } = scenario;
  const requests = all.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  const calls = Math.max(1, requests.length);
  const share = (of: readonly Request[]) => of.length / calls;
  const latencies = requests.map(({ call }) => call.endedMs - call.startedMs).sort((a, b) => a - b);
  const threw = requests.flatMap(({ call }) => (call.outcome.kind === "threw" ? [call.outcome.error] : []));
  const admitted = requests.filter(isAdmitted);
  const denied = requests.filter(isDenied);
  const endMs = Math.min(toMs, scenario.seconds * 1000);
  const inTime = all.filter((r) => isAdmitted(r) && r.call.decidedMs >= fromMs && r.call.decidedMs < endMs);
  const buckets = [...byKey(all).values()];
  const mostPossible = mostTokens(scenario, buckets, { fromMs, toMs });
  const spreadMs = 2 * (options.skewMs ?? 0);
  const over = scenario.isUnbounded
    ? []
    : [...byKey(startedWork(all, operations)).values()].map((bucket) =>
        overGrant(limit, bucket.map(grantOf), spreadMs),
      );
  const wrong = buckets.reduce(
    (total, bucket) =>
      total + falseDenials(limit, bucket.filter(isAdmitted).map(grantOf), bucket.filter(isDenied).map(grantOf)),
    0,
  );
  return {
    label: design.label,
    library: design.library,
    shards: design.shards,
    calls: requests.length,
    attemptsPerCall: requests.reduce((total, { call }) => total + call.attempts, 0) / calls,
    failed: share(requests.filter(({ call }) => call.sends > 1 || isGivenUp(call.outcome.kind))),
    overloaded: share(requests.filter(({ call }) => call.outcome.kind === "overloaded")),
    sendsPerCall: requests.reduce((total, { call }) => total + call.sends, 0) / calls,
    threw: threw.length / calls,
    firstError: threw.length > 0 ? String(threw[0]) : undefined,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    perCall: meanCost(requests.map(({ call }) => call.cost)),
    perDenial: meanCost(denied.map(({ call }) => call.lastCost)),
    backgroundPerCall: dividedCost(background, Math.max(1, all.length)),
    keys: buckets.length,
    rowsAtEnd,
    admittedCalls: admitted.length,
    deniedCalls: denied.length,
    falseDenials: wrong / Math.max(1, all.filter(isDenied).length),
    admitted: sum(admitted),
    possible: mostPossible,
    admittedInTime: sum(inTime),
    utilisation: sum(inTime) / Math.max(1, mostPossible),
    overGrant: Math.max(0, ...over),
    honest: probes.asked > 0 ? probes.sufficed / probes.asked : undefined,
    honestOneMsLater: probes.asked > 0 ? (probes.sufficed + probes.nearly) / probes.asked : undefined,
    probes: probes.asked,
    operations: figuresOf(operations.filter(({ call: { startedMs: at } }) => at >= fromMs && at < toMs)),
    longestWaitMs: Math.max(0, ...admitted.map(({ call, sinceMs }) => call.endedMs - sinceMs)),
    meanWaitMs: mean(all.filter(isAdmitted).map((request) => grantOf(request).atMs - request.call.clock)),
    exactMeanWaitMs: scenario.reserve ? exactMeanWait(limit, buckets) : 0,
  };
}

/** The tokens that one exact bucket would have admitted in the counted part of the run. */
function mostTokens(
  { limit, callers, seconds, reserve }: Scenario,
  buckets: readonly (readonly Request[])[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number {
  // Obedient callers ask for more than the rate, and their arrivals depend on the answers.
  if (callers.kind === "closed" && callers.obey) {
    return (limit.rate * (Math.min(toMs, seconds * 1000) - fromMs)) / limit.period;
  }
  return buckets.reduce((total, bucket) => {
    const arrivals = bucket.filter(({ atMs }) => atMs < toMs).map(arrivalOf);
    // Reservations without a bound are never denied.
    return total + (reserve ? sum(arrivals.filter(({ atMs }) => atMs >= fromMs)) : possible(limit, arrivals, fromMs));
  }, 0);
}

/** What was admitted, with reservations beside the calls, and without tokens that came back: they count as never started. */
function startedWork(requests: readonly Request[], operations: readonly Operated[]): Request[] {
  const returned = new Map<Request, number>();
  const beside: Request[] = [];
  for (const { operation, after, call } of operations) {
    const { startedMs: atMs } = call;
    if (operation.kind === "take") {
      beside.push({
        atMs,
        sinceMs: atMs,
        key: operation.ask.key,
        count: operation.ask.count,
        call: call as Call<Answer>,
      });
    } else if (operation.kind === "adjust" && operation.count < 0 && after && call.outcome.kind === "committed") {
      returned.set(after, (returned.get(after) ?? 0) - operation.count);
    }
  }
  return [
    ...requests.map((request) => ({ ...request, count: request.count - (returned.get(request) ?? 0) })),
    ...beside,
  ].filter(isAdmitted);
}

function figuresOf(operations: readonly Operated[]): OperationFigures {
  const count = Math.max(1, operations.length);
  const failed = operations.filter(({ call }) => isGivenUp(call.outcome.kind));
  const threw = operations.flatMap(({ call: { outcome } }) => (outcome.kind === "threw" ? [outcome.error] : []));
  const used = operations.map(({ operation, after }) =>
    operation.kind === "adjust" ? (after?.count ?? 0) + operation.count : 0,
  );
  const lost = failed.map(({ operation }) => (operation.kind === "adjust" ? Math.max(0, operation.count) : 0));
  const total = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  return {
    calls: operations.length,
    attemptsPerCall: total(operations.map(({ call }) => call.attempts)) / count,
    failed: failed.length / count,
    threw: threw.length / count,
    firstError: threw.length > 0 ? String(threw[0]) : undefined,
    p99Ms: quantile(
      operations.map(({ call }) => call.endedMs - call.startedMs).sort((a, b) => a - b),
      0.99,
    ),
    perCall: meanCost(operations.map(({ call }) => call.cost)),
    uncharged: total(lost) / Math.max(1, total(used)),
  };
}

/** The mean wait, over all buckets, that one exact bucket would have given to the admitted calls. */
function exactMeanWait(limit: Scenario["limit"], buckets: readonly (readonly Request[])[]): number {
  const served = buckets.map((bucket) =>
    bucket.filter(isAdmitted).map(({ call, count }) => ({ atMs: call.clock, count })),
  );
  const total = served.reduce((total, grants) => total + meanWait(limit, grants) * grants.length, 0);
  return (
    total /
    Math.max(
      1,
      served.reduce((calls, grants) => calls + grants.length, 0),
    )
  );
}

function isAdmitted({ call: { outcome } }: Request): boolean {
  return outcome.kind === "committed" && outcome.value.ok;
}

function isDenied({ call: { outcome } }: Request): boolean {
  return outcome.kind === "committed" && !outcome.value.ok;
}

function isGivenUp(kind: Request["call"]["outcome"]["kind"]): boolean {
  return kind === "exhausted" || kind === "overloaded";
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

/** The time of an admission is when its work may start: at once, or when its reservation runs. That of a denial is its decision. */
function grantOf({ count, call: { outcome, clock } }: Request): Grant {
  const retryAt = outcome.kind === "committed" && outcome.value.ok ? outcome.value.retryAt : undefined;
  return { atMs: retryAt ?? clock, count };
}

/** The smallest value that is not less than the given share of all values. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / Math.max(1, values.length);
}

function meanCost(costs: readonly Cost[]): Cost {
  const total = noCost();
  for (const cost of costs) addCost(total, cost);
  return dividedCost(total, Math.max(1, costs.length));
}
