/** All checks, how much a run does, and how long it takes at most. */
import { type Check, type Effort, SECONDS } from "./check.js";
import { contention } from "./contention.js";
import { cost } from "./cost.js";
import { exactness } from "./exactness.js";
import { facts } from "./facts.js";
import { hot } from "./hot.js";
import { http } from "./http.js";
import { live } from "./live.js";
import { order } from "./order.js";
import { queues } from "./queues.js";

/** The most seconds of a whole run. */
export const MOST_SECONDS = 600;
/** For what is done before the first check and after the last one. */
const AROUND_SECONDS = 20;

/** @param isEmbedded - one process calls and serves, so it has the loads and the zones of a short run. */
export function effortOf(name: Effort["name"], platform: Effort["platform"], isEmbedded = false): Effort {
  const clients = { clients: 4, perSecond: 40 };
  const light = { zones: 20, loads: [clients], loadSeconds: 1, hot: { ...clients, seconds: 3 } };
  if (name === "short") return { name, cycles: 2, rounds: 5, jobs: 10, ...light, platform };
  const most = { name, cycles: 10, rounds: 30, jobs: 60, platform };
  if (isEmbedded) return { ...most, ...light };
  const isSmall = platform === "S16";
  const loads = [
    { clients: 16, perSecond: 20 },
    { clients: 64, perSecond: 100 },
    { clients: 64, perSecond: isSmall ? 300 : 1000 },
  ];
  const beside = { clients: 32, perSecond: isSmall ? 100 : 300, seconds: 20 };
  return { ...most, zones: 400, loads, loadSeconds: 10, hot: beside };
}

export function checksOf(effort: Effort): Check[] {
  return [
    ...facts,
    ...order,
    ...queues(effort),
    ...exactness,
    ...live,
    ...http,
    ...cost,
    ...hot,
    ...contention(effort),
  ];
}

export const secondsOf = ({ seconds = () => SECONDS }: Check, effort: Effort): number => seconds(effort);

/** The most seconds of a run: those of the checks that run one after the other, and of the longest one beside them. */
export function plannedSeconds(checks: readonly Check[], effort: Effort): number {
  const inTurn = checks.filter(({ isBeside }) => !isBeside);
  const beside = checks.filter(({ isBeside }) => isBeside).map((check) => secondsOf(check, effort));
  return (
    AROUND_SECONDS +
    Math.max(
      inTurn.reduce((sum, check) => sum + secondsOf(check, effort), 0),
      ...beside,
    )
  );
}
