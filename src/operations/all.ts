/** Several limits at once: all are charged, or none. One in shadow is charged if it can be, and stops none of the others. */
import type { Bundle } from "../engine/bundle.js";
import { type Reader, write, type Writer } from "../storage/rows.js";
import type { RateLimitAllStatus } from "../wire/answers.js";
import { type Answer, type Call, untouched } from "./answer.js";
import { answer, answerInFull } from "./consume.js";

/** Takes what all the requests ask for, or nothing. */
export async function consumeAll(ctx: Writer, bundle: Bundle): Promise<RateLimitAllStatus> {
  const call: Call = { now: Date.now(), random: Math.random };
  const answers = await Promise.all(bundle.summed.map((request) => answer(ctx, request, call)));
  const all = combine(bundle, answers, call.now);
  if (!all.ok) return all;
  for (const { change } of answers) if (change) await write(ctx, change);
  return all;
}

/** The same decision on all rows, taking nothing. */
export async function checkAll(ctx: Reader, bundle: Bundle): Promise<RateLimitAllStatus> {
  const now = Date.now();
  return combine(bundle, await Promise.all(bundle.summed.map((request) => answerInFull(ctx, request, now))), now);
}

/** One status from those of all the buckets; where one that is enforced denies, the others stay as they are. */
function combine({ requests, partOf }: Bundle, answers: readonly Answer[], now: number): RateLimitAllStatus {
  const own = partOf.flatMap((place) => answers.slice(place, place + 1));
  const enforced = own.flatMap(({ status }, i) => (requests[i]?.asked.shadow ? [] : [status]));
  const denials = enforced.flatMap(({ ok, retryAt }) => (ok ? [] : [retryAt]));
  if (denials.length > 0) {
    const statuses = own.map((answer) => (answer.status.ok ? untouched(answer, now) : answer.status));
    return { ok: false, retryAt: Math.max(...denials), statuses };
  }
  const statuses = own.map(({ status }) => status);
  const waits = enforced.flatMap(({ retryAt }) => (retryAt === undefined ? [] : [retryAt]));
  return { ok: true, ...(waits.length > 0 ? { retryAt: Math.max(...waits) } : {}), statuses };
}
