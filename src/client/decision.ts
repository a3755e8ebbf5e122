/** What becomes of a decision: `onDecision` is told of it; then it is returned, thrown, or let through in shadow. */
import type { RateLimitConfig } from "../configs.js";
import type { Request } from "../engine/request.js";
import type { RateLimitAllStatus, RateLimitStatus } from "../validators.js";
import type { Mode, ThrowChoice } from "./args.js";
import { denialError } from "./errors.js";

/** A decision, as `onDecision` is told of it. Changing it changes nothing. */
export interface RateLimitDecision {
  name: string;
  key?: string | undefined;
  /** The tokens that were asked for. */
  count: number;
  /** Of a call that takes as much as there is, what would suffice. */
  atLeast?: number | undefined;
  reserve: boolean | { within: number };
  /** The true answer, in shadow too. */
  status: RateLimitStatus;
  /** Whether the answer holds, or the caller is let through. */
  mode: Mode;
  /** The config that decided. */
  config: RateLimitConfig;
}

/** A request, and what a call and the definitions say of its answer. */
export interface AskedRequest {
  readonly request: Request;
  readonly throws: ThrowChoice;
  readonly mode: Mode;
}

/** The decision about one request, as its caller gets it. @throws a denial, where the call or the definitions say so. */
export function concluded(
  { request, throws, mode }: AskedRequest,
  status: RateLimitStatus,
  errorKeys: boolean,
): RateLimitStatus {
  if (mode === "shadow") return letThrough(request, status);
  if (throws && !status.ok) throw thrown(request, status, throws, errorKeys);
  return status;
}

/** The decision about several. Of denials the one that takes longest is thrown, if any of them is: it is the one to wait for. */
export function concludedAll(
  list: readonly AskedRequest[],
  all: RateLimitAllStatus,
  errorKeys: boolean,
): RateLimitAllStatus {
  const own = all.statuses.flatMap((status, i) => {
    const asked = list[i];
    return asked ? [{ ...asked, status }] : [];
  });
  const denials = own.flatMap(({ status, ...one }) =>
    one.mode === "enforce" && !status.ok ? [{ ...one, status }] : [],
  );
  const longest = denials.find(({ status }) => status.retryAt === all.retryAt);
  // How the one that is thrown would throw by itself, if it would.
  const throws = [longest, ...denials].map((each) => each?.throws).find(Boolean);
  if (throws && longest && !all.ok) throw thrown(longest.request, longest.status, throws, errorKeys);
  if (own.every(({ mode }) => mode === "enforce")) return all;
  const statuses = own.map(({ request, mode, status }) => (mode === "shadow" ? letThrough(request, status) : status));
  return { ...all, statuses };
}

/** As if there were no limit, and the true answer. */
function letThrough(
  { asked: { count = 1, atLeast, refundable } }: Request,
  status: RateLimitStatus,
): RateLimitStatus {
  const { remaining, resetAt } = status;
  return {
    ok: true,
    ...(remaining !== undefined && { remaining }),
    ...(resetAt !== undefined && { resetAt }),
    ...(atLeast !== undefined && { taken: count }),
    // Of tokens that were not taken none come back: the date is before any other.
    ...(refundable && { takenAt: (status.ok && status.takenAt) || 0 }),
    shadow: status,
  };
}

/** The error of a denial, as its `throws` says. */
export function thrown(
  { name, key }: Pick<Request, "name" | "key">,
  denial: Parameters<typeof denialError>[1],
  throws: ThrowChoice,
  errorKeys: boolean,
): Error {
  const jitter = typeof throws === "object" ? throws.jitter : 0;
  return denialError({ name, key: errorKeys ? key : undefined }, denial, jitter);
}

/** A decision to tell of, in copies: whatever is done to these, the decision and the definition stay as they are. */
export function told({ request, mode }: AskedRequest, status: RateLimitStatus): RateLimitDecision {
  const { limit, key, asked } = request;
  const { count = 1, atLeast, reserve = false } = asked;
  const { name, config } = limit;
  return { name, key, count, atLeast, reserve, status: { ...status }, mode, config: { ...config } };
}
