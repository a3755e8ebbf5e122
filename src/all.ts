/** Several demands at once, all or nothing: each row is read once, and nothing is written unless every limit lets its part go. */
import { ask } from "./ask.js";
import { outlook } from "./engine/decide.js";
import { checkPossible } from "./engine/demand.js";
import { misuse } from "./engine/misuse.js";
import { decideOnAll } from "./engine/probe.js";
import type { Decision, Demand } from "./engine/types.js";
import { loadAll, openParts, type Parts, saveParts } from "./parts.js";
import type { Request } from "./request.js";
import type { Reader, Writer } from "./store.js";
import type { RateLimitAllStatus, RateLimitStatus } from "./validators.js";

/** Takes what all the requests ask for, or nothing. */
export async function consumeAll(ctx: Writer, requests: readonly Request[]): Promise<RateLimitAllStatus> {
  const random = Math.random();
  const answers = await askAll(ctx, requests, (known, demand) => ask(ctx, known, demand, random));
  const status = combine(requests, answers);
  if (status.ok) {
    for (const { known, taken } of answers) await saveParts(ctx, known, taken);
  }
  return status;
}

/** The same decision with a look at everything, taking nothing. */
export async function checkAll(ctx: Reader, requests: readonly Request[]): Promise<RateLimitAllStatus> {
  const answers = await askAll(ctx, requests, async (known, demand) =>
    decideOnAll(known.place.limit, await loadAll(ctx, known), known.now, demand),
  );
  return combine(requests, answers);
}

/** How one demand is put to one bucket. */
type Asking = (known: Parts, demand: Demand) => Promise<Decision>;

/** What one bucket says to all the requests that concern it. */
interface Answer {
  readonly requests: readonly Request[];
  readonly known: Parts;
  readonly taken: Decision["taken"];
  /** To the requests that want their tokens now, and to those that may take them from the future. */
  readonly plain: RateLimitStatus;
  readonly reserved: RateLimitStatus;
  /** How the bucket stands while nothing is taken from it. */
  readonly untouched: RateLimitStatus;
}

async function askAll(ctx: Reader, requests: readonly Request[], asking: Asking): Promise<Answer[]> {
  const now = Date.now();
  const buckets = new Map<string, [Request, ...Request[]]>();
  for (const request of requests) {
    const id = JSON.stringify([request.limit.name, request.key]);
    const bucket = buckets.get(id);
    if (bucket) bucket.push(request);
    else buckets.set(id, [request]);
  }
  const answers: Answer[] = [];
  for (const bucket of buckets.values()) answers.push(await askBucket(ctx, bucket, now, asking));
  return answers;
}

/** Requests to the same bucket add up: those without reserve must be there now, all together paid for in the end. */
async function askBucket(
  ctx: Reader,
  requests: readonly [Request, ...Request[]],
  now: number,
  asking: Asking,
): Promise<Answer> {
  const [first] = requests;
  const { limit } = first;
  if (requests.some((request) => JSON.stringify(request.limit.config) !== JSON.stringify(limit.config))) {
    throw misuse(limit.name, "one bucket must have the same config in all the requests of a call.");
  }
  const known = openParts(first, now);
  const sum = (demands: Demand[]) => demands.reduce((total, { count }) => total + count, 0);
  const demands = requests.map(({ demand }) => demand);
  const atOnce = demands.filter(({ reserve }) => !reserve);
  const plain = checkPossible(limit, { count: sum(atOnce), reserve: false });
  const whole = checkPossible(limit, { count: sum(demands), reserve: atOnce.length < demands.length });
  const mixed = atOnce.length > 0 && whole.reserve;
  const parts = mixed ? await loadAll(ctx, known) : [];
  const decision = mixed ? decideOnAll(limit, parts, now, whole) : await asking(known, whole);
  const plainStatus = mixed ? decideOnAll(limit, parts, now, plain).status : decision.status;
  return {
    requests,
    known,
    taken: decision.taken,
    plain: plainStatus.ok ? withoutWait(decision.status) : plainStatus,
    reserved: decision.status,
    untouched: { ok: true, ...outlook(limit, decision.asked, now) },
  };
}

/** Work that has its tokens now does not wait for those that others of the same call reserve. */
function withoutWait(status: RateLimitStatus): RateLimitStatus {
  return status.ok ? { ok: true, remaining: status.remaining, resetAt: status.resetAt } : status;
}

function combine(requests: readonly Request[], answers: readonly Answer[]): RateLimitAllStatus {
  const own = requests.flatMap((request) => answers.filter((answer) => answer.requests.includes(request)));
  const statuses = own.map(({ plain, reserved }, i) => (requests[i]?.demand.reserve ? reserved : plain));
  const denials = statuses.flatMap((status) => (status.ok ? [] : [status.retryAt]));
  if (denials.length > 0) {
    const standing = own.map(({ untouched }, i) => (statuses[i]?.ok ? untouched : (statuses[i] ?? untouched)));
    return { ok: false, retryAt: Math.max(...denials), statuses: standing };
  }
  const waits = statuses.flatMap(({ retryAt }) => (retryAt === undefined ? [] : [retryAt]));
  return { ok: true, ...(waits.length > 0 ? { retryAt: Math.max(...waits) } : {}), statuses };
}
