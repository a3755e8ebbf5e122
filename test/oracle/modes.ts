/**
 * What a world on one row plays. Each mode is a test of its own, so that a fault is named by the first mode that finds it. `least`: the
 * share of answers that must be judged exactly; in the others a bucket is a pair (history.ts).
 */
import type { Mode } from "./player.js";

const apart = { apart: true };

export const modes: Readonly<Record<string, Mode & { readonly least: number }>> = {
  "plain calls": { plans: "one", least: 0.99 },
  "reservations, jobs and cancels": { plans: "one", reserve: true, ...apart, least: 0.9 },
  "refunds by date": { plans: "one", refund: true, ...apart, least: 0.95 },
  "refunds of jobs": { plans: "one", refund: true, reserve: true, ...apart, least: 0.8 },
  "refunds in one millisecond": { plans: "one", refund: true, reserve: true, least: 0.4 },
  "charges and gifts": { plans: "one", refund: true, reserve: true, charge: true, ...apart, least: 0.8 },
  "pauses and resets": { plans: "one", reserve: true, charge: true, pause: true, reset: true, ...apart, least: 0.7 },
  "clocks that step back": { plans: "one", reserve: true, charge: true, clock: true, least: 0.6 },
  deploys: { plans: "one", deploy: true, reserve: true, charge: true, ...apart, least: 0.7 },
  "deploys that move windows": {
    ...{ plans: "one", kind: "fixed window", deploy: true, moveWindows: true },
    ...{ charge: true, reserve: true, ...apart, least: 0.7 },
  },
  overrides: { plans: "one", override: true, reserve: true, ...apart, least: 0.7 },
  "plans of one kind": { plans: "alike", reserve: true, charge: true, ...apart, least: 0.6 },
  "plans of one kind and refunds": { plans: "alike", reserve: true, refund: true, ...apart, least: 0.4 },
  "plans of several kinds": { plans: "several", reserve: true, charge: true, ...apart, least: 0.6 },
  "refunds of what nobody took": { plans: "one", reserve: true, refund: true, dishonest: true, least: 0.4 },
  "all of it": {
    ...{ plans: "several", reserve: true, refund: true, dishonest: true, charge: true, pause: true },
    ...{ reset: true, override: true, deploy: true, clock: true, least: 0.3 },
  },
};
