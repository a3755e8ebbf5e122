/** The operations of law 15: an app does them on a hot key beside its plain calls. */
export const OPERATIONS = [
  "charge",
  "refund",
  "reserve",
  "cancel",
  "check",
  "get",
  "other plan",
  "override",
  "block",
  "unblock",
  "pause",
  "reset",
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** The tokens that a charge beside plain calls takes. */
export const CHARGE = 3;

/** These start a queue's worker whose planned run is gone. The sweep comes last: it looks at every key. */
export const WAKERS = ["enqueue", "cancel", "pause", "adjustment", "reset", "sweep"] as const;
export type Waker = (typeof WAKERS)[number];
