/** The completions and hover texts of an editor, from TypeScript's own language service. */
import { describe, expect, it } from "vitest";
import { openEditor } from "./editor.js";

const { offered, shown } = openEditor(`
import { defineRateLimits, MINUTE } from "convex-rate-limits";
import { rateLimitJobs } from "convex-rate-limits/jobs";
import { rateLimitTables } from "convex-rate-limits/schema";
import { defineSchema, type DataModelFromSchemaDefinition, type GenericMutationCtx } from "convex/server";
const schema = defineSchema({ ...rateLimitTables });
declare const ctx: GenericMutationCtx<DataModelFromSchemaDefinition<typeof schema>>;
const limits = defineRateLimits({
  send: { kind/*kindDoc*/: "token bucket", rate/*rate*/: 10, period/*bucketPeriod*/: MINUTE, capacity/*capacity*/: 10, keyed/*keyed*/: true },
  signUp: { kind: "fixed window", rate: 10, period/*windowPeriod*/: MINUTE, start/*start*/: 0, maxReserved/*maxReserved*/: 1 },
  monthly: { kind: "fixed window", rate: 10, period: "month", timeZone/*timeZone*/: "UTC", anchor/*anchor*/: 1 },
  planned: { kind: "fixed window", period: "day", plans/*plans*/: { free: { rate/*planRate*/: 1 } } },
  window: { kind: "sliding window", rate: 10, period/*slidingPeriod*/: MINUTE, shards/*shards*/: 8 },
}, { errorKeys/*errorKeys*/: true });
const { rateLimit, adjustRateLimit } = limits;
const { scheduleRateLimited } = rateLimitJobs(limits);
void rateLimit(ctx, { name: "/*name*/" });
void rateLimit(ctx, { name: "send", /*args*/ });
void rateLimit(ctx, { name: "planned", plan/*plan*/: "free" });
void adjustRateLimit(ctx, { name: "signUp", count/*charge*/: 5 });
declare const fn: never;
void scheduleRateLimited(ctx, { name: "signUp", spread/*spread*/: 5 }, fn);
const status = await rateLimit/*call*/(ctx, { name/*nameDoc*/: "send", key/*key*/: "a", count/*count*/: 1, reserve/*reserve*/: true, throws/*throws*/: false, mode/*mode*/: "enforce" });
if (status.ok) console.log(status.shadow/*shadow*/);
if (!status.ok) console.log(status.retryAt/*denied*/, status.remaining/*remaining*/, status.resetAt/*resetAt*/);
else console.log(status.retryAt/*allowed*/);
defineRateLimits({ a: { kind: "/*kind*/" } });
defineRateLimits({ a: { kind: "fixed window", /*window*/ } });
defineRateLimits({ a: { kind: "token bucket", /*bucket*/ } });
defineRateLimits({ a: { kind: "sliding window", /*sliding*/ } });
export {};
`);

describe("an editor offers", () => {
  it.each([
    ["the names of the defined limits", "name", ["monthly", "planned", "send", "signUp", "window"]],
    ["the arguments", "args", ["config", "count", "key", "mode", "refundable", "reserve", "throws"]],
    ["the kinds", "kind", ["concurrency", "fixed window", "sliding window", "token bucket"]],
  ])("%s", (_what, mark, names) => {
    expect(offered(mark)).toEqual(names);
  });

  it("the fields of each kind, with a start only for fixed windows", () => {
    const all = "capacity keyed maxReserved mode period plans queue rate shards throws".split(" ");
    expect(offered("window")).toEqual(["anchor", ...all, "start", "timeZone"].sort());
    expect(offered("bucket")).toEqual(all);
    expect(offered("sliding")).toEqual(expect.arrayContaining(all.filter((field) => field !== "capacity")));
    expect(offered("sliding")).not.toContain("start");
  });
});

it.each([
  ["rate", /Tokens that arrive per `period`; above 0/],
  ["kindDoc", /Refills continuously/],
  ["plans", /configs by plan/],
  ["planRate", /Tokens that arrive per `period`/],
  ["nameDoc", /A limit that is defined/],
  ["key", /Whom the limit counts/],
  ["plan", /plan of the key's owner/],
  ["bucketPeriod", /[Mm]illiseconds; above 0/],
  ["windowPeriod", /length of a window: whole milliseconds.*unit of the calendar/],
  ["slidingPeriod", /[Mm]illiseconds; above 0/],
  ["capacity", /most tokens that can be saved up .*default `rate`/],
  ["keyed", /key/],
  ["start", /time at which a window starts, in whole milliseconds since the epoch/],
  ["maxReserved", /most tokens that may be owed to reservations; 0 \(none\)/],
  ["timeZone", /IANA name of the time zone.*default `"UTC"`/],
  ["anchor", /when it begins\. A month of the year \(1 to 12\), a day of the month/],
  ["shards", /How many rows a hot limit may be spread over.*default 1/],
  ["errorKeys", /default false/],
  ["call", /Takes `count` tokens, or says when/],
  ["count", /Tokens to take: .*default 1/],
  ["reserve", /taken from the future, up to `maxReserved`/],
  ["throws", /thrown as a `ConvexError`/],
  ["mode", /enforced in this call; default what its definition says/],
  ["shadow", /its answer if it were enforced/],
  ["charge", /Tokens to charge; negative for a refund/],
  ["spread", /Milliseconds, up to a day/],
  ["denied", /first millisecond at which the same request succeeds/],
  ["allowed", /reservation that waits: run the work at this time/],
  ["remaining", /Whole tokens left after this decision/],
  ["resetAt", /When the bucket is full again/],
])("an editor shows the meaning and the unit of %s", (mark, text) => {
  expect(shown(mark)).toMatch(text);
});
