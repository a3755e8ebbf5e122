/**
 * The answers that a client shows as time passes, for a snapshot and a demand, each with its time in ms since NOW. The client shows nothing
 * else in between or later. The store and the hook show the same.
 */
import { MINUTE, type RateLimitConfig, type RateLimitSnapshot, SECOND } from "convex-rate-limits";
import type { Demand, ProjectedStatus } from "convex-rate-limits/client";
import { snapshotBy, type StoredBucket } from "../support/snapshots.js";

export const NOW = 1_800_000_000_000;
export const tenASecond: RateLimitConfig = { kind: "token bucket", rate: 10, period: SECOND, capacity: 10 };
export const empty: StoredBucket = { name: "send", value: 0, ts: NOW, config: tenASecond };

/** The bucket of `empty` with some fields of its config changed. */
const bucket = (value: number, config: object = {}) => ({ ...empty, value, config: { ...tenASecond, ...config } });
const windows = (value: number, config: object) => ({
  ...empty,
  value,
  config: { kind: "fixed window", start: NOW, ...config } as RateLimitConfig,
});
export const window: StoredBucket = windows(0, { rate: 5, period: MINUTE, capacity: 10, start: NOW - 20 * SECOND });
/** A snapshot of one bucket, and of another that overrides it for 200 ms. */
const overridden = (own: StoredBucket, other: StoredBucket): RateLimitSnapshot => ({
  ...snapshotBy(own),
  override: { ...snapshotBy(other), until: NOW + 200 },
});

/** The time and all fields of a status: "100: allowed, 0 left of 1, reset at 1100". */
export function describe(status: ProjectedStatus | undefined): string {
  const after = (time: number) => (time === 8.64e15 ? "the end of time" : `${time - NOW}`);
  if (!status) return `${after(Date.now())}: loading`;
  const { ok, retryAt, remaining, value, resetAt, ...more } = status;
  const reason = "reason" in more ? `, ${more.reason}` : "";
  const wait = retryAt === undefined ? "" : ` ${ok ? "from" : "until"} ${after(retryAt)}`;
  const reset = resetAt === undefined ? "" : `, reset at ${after(resetAt)}`;
  return `${after(Date.now())}: ${ok ? "allowed" : "denied"}${wait}${reason}, ${remaining} left of ${value}${reset}`;
}

type Shown = StoredBucket | RateLimitSnapshot;
type Change = [when: string, shown: Shown, demand: Demand, ...answers: string[]];

const CHANGES: [when: string, [shown: Shown, demand?: Demand], ...answers: string[]][] = [
  [
    "when the wait ends, not a millisecond earlier, and when the bucket is full",
    [empty],
    "0: denied until 100, 0 left of 0, reset at 1000",
    "100: allowed, 0 left of 1, reset at 1100",
    "1000: allowed, 9 left of 10, reset at 1100",
  ],
  ["once that a bucket is full", [{ ...bucket(10), ts: 0 }], "0: allowed, 9 left of 10, reset at 100"],
  [
    "the start of each window until the bucket is full",
    [windows(0, { rate: 5, period: MINUTE, capacity: 15, start: NOW - 20 * SECOND })],
    "0: denied until 40000, 0 left of 0, reset at 40000",
    "40000: allowed, 4 left of 5, reset at 100000",
    "100000: allowed, 9 left of 10, reset at 160000",
    "160000: allowed, 14 left of 15, reset at 220000",
  ],
  [
    "the start of a window, even within a second",
    [windows(1, { rate: 5, period: MINUTE, capacity: 6, start: NOW + 300 })],
    "0: allowed, 0 left of 1, reset at 300",
    "300: allowed, 5 left of 6, reset at 60300",
  ],
  [
    "no further windows once the bucket is full, even if a third in units is a little less than the number",
    [windows(0, { rate: 10 / 3, period: SECOND })],
    "0: denied until 1000, 0 left of 0, reset at 1000",
    "1000: allowed, 2 left of 3.3333333330228925, reset at 2000",
  ],
  [
    "short windows at most once a second, and the end of a wait at its very time",
    [windows(0, { rate: 1, period: 50, capacity: 100 })],
    "0: denied until 50, 0 left of 0, reset at 50",
    "50: allowed, 0 left of 1, reset at 100",
    "1050: allowed, 20 left of 21, reset at 1100",
    "2050: allowed, 40 left of 41, reset at 2100",
    "3050: allowed, 60 left of 61, reset at 3100",
    "4050: allowed, 80 left of 81, reset at 4100",
    "5000: allowed, 99 left of 100, reset at 5050",
  ],
  [
    "when the debt of a short window is paid, and no window before that",
    [windows(-3750, { rate: 1, period: 50, capacity: 1 })],
    "0: denied until 187550, 0 left of -3750, reset at 50",
    "187550: allowed, 0 left of 1, reset at 187600",
  ],
  [
    "one answer if the capacity is 0, since every answer is a reservation",
    [bucket(0, { capacity: 0 }), { reserve: true }],
    "0: allowed from 100, 0 left of 0, reset at 100",
  ],
  [
    "when the bucket is full, with a capacity that is not a decimal",
    [bucket(0, { capacity: 10 / 3 })],
    "0: denied until 100, 0 left of 0, reset at 334",
    "100: allowed, 0 left of 1, reset at 434",
    "334: allowed, 2 left of 3.333333330078125, reset at 434",
  ],
  [
    "when an override ends, before its bucket is full",
    [overridden(bucket(5), bucket(5, { rate: 1 }))],
    "0: allowed, 4 left of 5, reset at 6000",
    "200: allowed, 6 left of 7, reset at 600",
    "500: allowed, 9 left of 10, reset at 600",
  ],
  [
    "when an override ends, also if the bucket is full under it",
    [overridden(empty, bucket(3, { capacity: 3 }))],
    "0: allowed, 2 left of 3, reset at 100",
    "200: allowed, 1 left of 2, reset at 1100",
    "1000: allowed, 9 left of 10, reset at 1100",
  ],
  [
    "a count as too large when the only override that could serve it ends",
    [overridden(empty, bucket(40, { capacity: 40 })), { count: 30 }],
    "0: allowed, 10 left of 40, reset at 3000",
    "200: denied until the end of time, too large, 2 left of 2, reset at 1000",
    "1000: denied until the end of time, too large, 10 left of 10, reset at 1000",
  ],
  [
    "when a block ends, and no new tokens before that",
    [{ ...snapshotBy(bucket(4)), override: { until: NOW + 300, reason: "blocked" } }],
    "0: denied until 300, blocked, 0 left of 4, reset at 600",
    "300: allowed, 6 left of 7, reset at 700",
    "600: allowed, 9 left of 10, reset at 700",
  ],
  [
    "when a block ends while the bucket is empty, although only the reason changes",
    [{ ...snapshotBy(empty), override: { until: NOW + 50, reason: "blocked" } }],
    "0: denied until 100, blocked, 0 left of 0, reset at 1000",
    "50: denied until 100, 0 left of 0.5, reset at 1000",
    "100: allowed, 0 left of 1, reset at 1100",
    "1000: allowed, 9 left of 10, reset at 1100",
  ],
  [
    // The fuzzer found this: a fixed window did not report when it is reset.
    "one answer for a block that has no end",
    [{ ...snapshotBy(windows(10, { rate: 10, period: SECOND })), override: { until: 8.64e15, reason: "blocked" } }],
    "0: denied until the end of time, blocked, 0 left of 10, reset at the end of time",
  ],
  [
    "an override by another kind of limit, with none of the limit's own fields",
    [overridden({ ...empty, value: 10, config: { kind: "sliding window", rate: 10, period: MINUTE } }, empty)],
    "0: denied until 100, 0 left of 0, reset at 1000",
    "100: allowed, 0 left of 1, reset at 1100",
    "200: allowed, 9 left of 10, reset at 60200",
  ],
  [
    "a count above the capacity as too large, with no time to wait for",
    [bucket(10), { count: 11 }],
    "0: denied until the end of time, too large, 10 left of 10, reset at 0",
  ],
];

export const changes = CHANGES.map(([when, [shown, demand = {}], ...answers]): Change => {
  return [when, shown, demand, ...answers];
});
