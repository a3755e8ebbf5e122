/** What was taken for a request that should not have counted goes back once the handler has answered. */
import { fieldError } from "../engine/misuse.js";
import type { Asking, LimitRefund } from "./ask.js";
import type { HttpCtx } from "./keys.js";
import type { AskPlan } from "./plan.js";
import type { ParsedLimit } from "./quota.js";

/** A limit that was asked, and its answer. */
export interface AskedLimit {
  readonly plan: AskPlan;
  readonly limited: ParsedLimit;
}

/**
 * Gives back what the limits' `refund` says, in one call.
 * @returns the limits as they stand then.
 */
export async function refund(
  asking: Asking,
  asked: readonly AskedLimit[],
  { ctx, request, response }: { ctx: HttpCtx; request: Request; response: Response | undefined },
): Promise<readonly ParsedLimit[]> {
  const refunds = new Map<AskedLimit, LimitRefund>();
  for (const one of asked) {
    const given = refundOf(one, await tokensBack(one, request, response));
    if (given.count !== 0) refunds.set(one, given);
  }
  const statuses = refunds.size > 0 ? [...(await asking.giveBack(ctx, [...refunds.values()]))] : [];
  return asked.map((one) => {
    const settled = refunds.has(one) ? statuses.shift() : undefined;
    if (!settled) return one.limited;
    const { shadow, override } = one.limited.status;
    return { ...one.limited, status: { ...settled, ...(shadow && { shadow }), ...(override && { override }) } };
  });
}

/** Refunds have no mode. Tokens come back by the time at which they were taken; what is charged has none. */
function refundOf({ plan: { request }, limited: { status } }: AskedLimit, count: number): LimitRefund {
  const { name, key, config, plan, count: renews } = request;
  const takenAt = status.ok ? (status.takenAt ?? 0) : 0;
  return {
    name,
    ...(key !== undefined && { key }),
    ...(config && { config }),
    ...(plan !== undefined && { plan }),
    count,
    renews,
    ...(count > 0 && { takenAt }),
  };
}

/** At most what the request took; negative for a further charge. */
async function tokensBack(
  { plan, limited }: AskedLimit,
  request: Request,
  response: Response | undefined,
): Promise<number> {
  const { refund: rule } = plan.rule.given;
  // A limit in shadow that would have denied has taken nothing.
  if (rule === undefined || limited.status.shadow?.ok === false) return 0;
  const taken = plan.request.count;
  if (typeof rule !== "function") {
    const hasFailed = response === undefined || response.status >= 400;
    return hasFailed === (rule === "failed") ? taken : 0;
  }
  const back = await rule(response, request, limited);
  if (typeof back === "boolean") return back ? taken : 0;
  if (Number.isFinite(back)) return Math.min(back, taken);
  throw fieldError(limited.name, "refund", "a boolean or a finite number of tokens", back);
}
