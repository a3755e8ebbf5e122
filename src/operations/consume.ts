/**
 * Taking tokens from one limit or several, and asking without taking. Clock and randomness are read once for each call.
 */
import { orderOf } from "../engine/requests.js";
import type { Request } from "../engine/request.js";
import { snapshotOf } from "../engine/snapshot.js";
import type { Bucket } from "../engine/bucket.js";
import { type Reader, readRows, write, type Writer } from "../storage/rows.js";
import { foundAmong, shardsOf } from "../storage/shards.js";
import { pausedUntil } from "../engine/control.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { RateLimitAllStatus, RateLimitStatus } from "../wire/answers.js";
import { type Answer, answer, describe, untouched } from "./answer.js";
import { type Call, startCall, termsOf } from "./terms.js";

/** Takes the tokens, or says when; a denial writes nothing. */
export async function consume(ctx: Writer, request: Request): Promise<RateLimitStatus> {
  const { status, change } = await answer(ctx, request, startCall());
  if (change) await write(ctx, change);
  return status;
}

/** The same decision, taking nothing. */
export async function check(ctx: Reader, request: Request): Promise<RateLimitStatus> {
  const { status } = await answer(ctx, request, startCall(true));
  return status;
}

/**
 * Takes what all the requests ask for, or nothing. One in shadow is charged if it can be, and stops none of the others.
 */
export async function consumeAll(ctx: Writer, requests: readonly Request[]): Promise<RateLimitAllStatus> {
  const { all, answers } = await answerAll(ctx, requests, startCall());
  if (!all.ok) return all;
  for (const { change } of answers) if (change) await write(ctx, change);
  return all;
}

/** The same decision, taking nothing. */
export async function checkAll(ctx: Reader, requests: readonly Request[]): Promise<RateLimitAllStatus> {
  return (await answerAll(ctx, requests, startCall(true))).all;
}

/** One status from those of all the buckets; where one that is enforced denies, the others stay as they are. */
async function answerAll(ctx: Reader, requests: readonly Request[], call: Call) {
  const found: Promise<Answer>[] = [];
  for (const place of orderOf(requests)) {
    const request = requests[place];
    if (request) found[place] = answer(ctx, request, call);
  }
  const answers = await Promise.all(found);
  const enforced = answers.flatMap(({ status }, i) => (requests[i]?.asked.shadow ? [] : [status]));
  const denials = enforced.flatMap(({ ok, retryAt }) => (ok ? [] : [retryAt]));
  const statuses = answers.map((own, i) => {
    const { status } = own;
    const shown = denials.length > 0 && status.ok ? untouched(own) : status;
    return requests[i]?.asked.describes ? { ...shown, policy: describe(own.before) } : shown;
  });
  const all: RateLimitAllStatus =
    denials.length > 0
      ? { ok: false, retryAt: Math.max(...denials), statuses }
      : { ok: true, ...latestOf(enforced.flatMap(({ retryAt }) => retryAt ?? [])), statuses };
  return { all, answers };
}

function latestOf(waits: readonly number[]) {
  return waits.length > 0 ? { retryAt: Math.max(...waits) } : {};
}

/** The stored state, the same at any time. */
export async function get(ctx: Reader, asked: Bucket): Promise<RateLimitSnapshot> {
  const found = foundAmong(asked, await readRows(ctx, asked));
  const { control, rows } = found;
  const { bucket, override } = termsOf(asked, found, 0);
  const { plan } = bucket;
  const snapshotUnder = ({ limit }: Bucket) =>
    snapshotOf(limit, shardsOf({ ...bucket, limit }, control, rows), pausedUntil(control));
  const snapshot = { ...snapshotUnder(bucket), ...(typeof plan === "string" && { plan }) };
  if (!override) return snapshot;
  const { limit, ...held } = override;
  return { ...snapshot, override: limit ? { ...snapshotUnder({ ...bucket, limit }), until: held.until } : (held as never) };
}
