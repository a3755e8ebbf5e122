/** What a world plays. Each mode is a test of its own, so that a fault is named by the first mode that finds it. */
import type { Mode } from "./player.js";

export const modes: Readonly<Record<string, Mode>> = {
  "plain calls": { plans: "one" },
  "reservations, jobs and cancels": { plans: "one", reserve: true },
  "refunds by date": { plans: "one", refund: true, apart: true },
  "refunds of jobs": { plans: "one", refund: true, reserve: true, apart: true },
  "refunds of one ms": { plans: "one", refund: true, reserve: true },
  "charges and gifts": { plans: "one", refund: true, reserve: true, apart: true, charge: true },
  "pauses and resets": { plans: "one", reserve: true, charge: true, pause: true, reset: true },
  "clocks that step back": { plans: "one", reserve: true, charge: true, clock: true },
  "deploys": { plans: "one", deploy: true, reserve: true, charge: true },
  "deploys that move windows": { plans: "one", kind: "fixed window", deploy: true, moveWindows: true, charge: true, reserve: true },
  "overrides": { plans: "one", override: true, reserve: true },
  "plans of one kind": { plans: "alike", reserve: true, charge: true, refund: true, apart: true },
  "dishonest refunds": { plans: "one", reserve: true, refund: true, dishonest: true },
  "plans of several kinds": { plans: "several", reserve: true },
  "all of it": { plans: "several", reserve: true, refund: true, dishonest: true, charge: true, pause: true, reset: true, override: true, deploy: true, clock: true },
};

