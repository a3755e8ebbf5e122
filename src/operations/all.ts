/** Several demands at once, all or nothing: each row is read once, and nothing is written unless every limit lets its part go. */
import { ask, askAbout } from "./ask.js";
import type { Bundle, Claim } from "../engine/bundle.js";
import { outlook } from "../engine/decide.js";
import { decideOnAll } from "../engine/sharding/probe.js";
import type { Decision, Demand } from "../engine/types.js";
import { loadAll, openParts, type Parts, saveParts } from "../storage/parts.js";
import type { Reader, Writer } from "../storage/rows.js";
import type { RateLimitAllStatus, RateLimitStatus } from "../validators.js";

/** Takes what all the requests ask for, or nothing. */
export async function consumeAll(ctx: Writer, requested: Bundle): Promise<RateLimitAllStatus> {
  const random = Math.random();
  const answers = await askAll(ctx, requested, (known, demand) => ask(ctx, known, demand, random));
  const status = combine(answers);
  if (status.ok) {
    for (const { known, taken } of answers) await saveParts(ctx, known, taken);
  }
  return status;
}

/** The same decision with a look at everything, taking nothing. */
export async function checkAll(ctx: Reader, requested: Bundle): Promise<RateLimitAllStatus> {
  return combine(await askAll(ctx, requested, (known, demand) => askAbout(ctx, known, demand)));
}

/** How one demand is put to one bucket. */
type Asking = (known: Parts, demand: Demand) => Promise<Decision>;

/** What one bucket says to the claim on it. */
interface Answer {
  readonly claim: Claim;
  readonly known: Parts;
  readonly taken: Decision["taken"];
  /** To the requests that want their tokens now, and to those that may take them from the future. */
  readonly atOnce: RateLimitStatus;
  readonly reserved: RateLimitStatus;
  /** How the bucket stands while nothing is taken from it. */
  readonly untouched: RateLimitStatus;
}

async function askAll(ctx: Reader, { claims }: Bundle, asking: Asking): Promise<Answer[]> {
  const now = Date.now();
  const answers: Answer[] = [];
  for (const claim of claims) answers.push(await answerTo(ctx, claim, now, asking));
  return answers;
}

async function answerTo(ctx: Reader, claim: Claim, now: number, asking: Asking): Promise<Answer> {
  const known = openParts(claim, now);
  if (claim.isMixed) return await answerToMixed(ctx, claim, known);
  const { status, taken, asked } = await asking(known, claim.whole);
  return { claim, known, taken, atOnce: status, reserved: status, untouched: untouched(known, asked) };
}

/** All of the claim must be paid for in the end, and the part that does not wait must be there now: two looks at one state. */
async function answerToMixed(ctx: Reader, claim: Claim, known: Parts): Promise<Answer> {
  const { limit, atOnce, whole } = claim;
  const parts = await loadAll(ctx, known);
  const first = decideOnAll(limit, parts, known.now, atOnce).status;
  const { status, taken } = decideOnAll(limit, parts, known.now, whole);
  return {
    claim,
    known,
    taken,
    atOnce: first.ok ? withoutWait(status) : first,
    reserved: status,
    untouched: untouched(known, parts),
  };
}

/** Work that has its tokens now does not wait for those that others of the same call reserve. */
function withoutWait(status: RateLimitStatus): RateLimitStatus {
  return status.ok ? { ok: true, remaining: status.remaining, resetAt: status.resetAt } : status;
}

function untouched({ place, now }: Parts, asked: Decision["asked"]): RateLimitStatus {
  return { ok: true, ...outlook(place.limit, asked, now) };
}

/** One status from those of all the requests; where one is denied, the others' buckets stay as they are. */
function combine(answers: readonly Answer[]): RateLimitAllStatus {
  const own = answers
    .flatMap((answer) => answer.claim.members.map((member) => ({ ...member, answer })))
    .sort((a, b) => a.place - b.place)
    .map(({ reserve, answer }) => ({ answer, status: reserve ? answer.reserved : answer.atOnce }));
  const denials = own.flatMap(({ status }) => (status.ok ? [] : [status.retryAt]));
  if (denials.length > 0) {
    const statuses = own.map(({ answer, status }) => (status.ok ? answer.untouched : status));
    return { ok: false, retryAt: Math.max(...denials), statuses };
  }
  const statuses = own.map(({ status }) => status);
  const waits = statuses.flatMap(({ retryAt }) => (retryAt === undefined ? [] : [retryAt]));
  return { ok: true, ...(waits.length > 0 ? { retryAt: Math.max(...waits) } : {}), statuses };
}
