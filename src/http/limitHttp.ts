/** The wrapper: who is it, what does it cost, may it pass; and on every answer what is left. */
import { neverServed, notIdentified, tooManyRequests, unavailable, withFields } from "./answers.js";
import { type BreakerOptions, makeBreaker } from "./breaker.js";
import type { Consume } from "./consume.js";
import type { HttpCtx } from "./ctx.js";
import type { RateLimitFormat } from "./formats.js";
import { asList, rateLimitHeaders } from "./headers.js";
import { checkLimits, type HttpLimit, planFor } from "./plan.js";
import type { LimitedBy } from "./quota.js";
import { checkJitter, retryAfterSeconds } from "./retryAfter.js";

/** Told when the limiter itself failed; what it throws is dropped, since the request has an answer already. */
type Report = (error: unknown, request: Request) => void | Promise<void>;

export type LimitHttpOptions = {
  /** One limit, or several that are asked together: all of them let the request pass, or none is charged. */
  limits: HttpLimit | readonly HttpLimit[];
  /** Takes the tokens: `inComponent(components.rateLimits)`, or a function that runs a mutation of your own. */
  consume: Consume;
  /** Which header fields to send, default `["draft-11"]`. */
  formats?: readonly RateLimitFormat[];
  /** By what fraction of the wait `Retry-After` may be later than the truth, 0 (default) to 1; 0.5 is a good choice. */
  jitter?: number;
  /** Methods that pass without being counted, default HEAD and OPTIONS. */
  skip?: readonly string[];
  /** Header fields for the answers that are not the handler's: `Access-Control-Allow-Origin` and the like. */
  cors?: Readonly<Record<string, string>> | ((request: Request) => Readonly<Record<string, string>>);
  /** Stops asking a limiter that keeps failing, as far as the isolate's memory lasts; off by default. */
  breaker?: BreakerOptions;
} & (
  | {
      /** When the limiter itself fails: answer 503 with Retry-After. The default. */
      onError?: "closed";
      /** Default: the error goes to the log. */
      report?: Report;
    }
  | {
      /** When the limiter itself fails: serve, unlimited, and report. */
      onError: "open";
      report: Report;
    }
);

/** A wait that outlasts the platform's own retries of a conflict (four, 2 s apart at most). */
const OUTAGE_MS = 10_000;

/**
 * Wraps the handler of an HTTP action: a request within its limits reaches it, and its answer says what is left; any other is
 * answered with 429, problem details and `Retry-After`. Tokens that were taken stay taken if the handler throws.
 *
 * @throws at module load, so that a deploy fails, when a limit is invalid.
 * @example
 * ```ts
 * import { httpActionGeneric } from "convex/server"; // in an app: httpAction from "./_generated/server"
 * import { MINUTE } from "convex-rate-limits";
 * import { byAddress, type Consume, deny, firstOf, limitHttp } from "convex-rate-limits/http";
 *
 * declare const consume: Consume; // inComponent(components.rateLimits)
 *
 * export const hello = httpActionGeneric(
 *   limitHttp(
 *     {
 *       limits: {
 *         name: "hello",
 *         key: firstOf(byAddress({ trustedProxies: 1 }), deny),
 *         config: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 10 },
 *       },
 *       consume,
 *     },
 *     () => Promise.resolve(new Response("Hello")),
 *   ),
 * );
 * ```
 */
export function limitHttp<Ctx extends HttpCtx>(
  options: LimitHttpOptions,
  handler: (ctx: Ctx, request: Request) => Promise<Response>,
): (ctx: Ctx, request: Request) => Promise<Response> {
  const { jitter = 0, skip = ["HEAD", "OPTIONS"], breaker: breakerOptions } = options;
  const limits = asList(options.limits);
  checkLimits(limits);
  checkJitter(limits.map(({ name }) => name).join(", "), jitter);
  const breaker = breakerOptions && makeBreaker(breakerOptions);

  return async (ctx, request) => {
    if (skip.includes(request.method)) return await handler(ctx, request);
    const decision = await decide(ctx, request);
    return decision.kind === "answer"
      ? withFields(decision.response, corsFields(options, request))
      : withFields(await handler(ctx, request), decision.fields);
  };

  async function decide(ctx: Ctx, request: Request): Promise<Decision> {
    const waitMs = breaker?.wait(Date.now()) ?? 0;
    if (waitMs > 0) return outage(waitMs);
    try {
      return await askLimits({ ...options, consume }, limits, ctx, request);
    } catch (error) {
      breaker?.failed(Date.now());
      await tell(options.report ?? logged, error, request);
      return outage(OUTAGE_MS);
    }
  }

  async function consume(...args: Parameters<Consume>): ReturnType<Consume> {
    const result = await options.consume(...args);
    breaker?.succeeded();
    return result;
  }

  function outage(waitMs: number): Decision {
    if (options.onError === "open") return { kind: "pass", fields: {} };
    // Who is asking may not be known, so here the share is drawn.
    const wait = { name: "outage", key: String(Math.random()), until: waitMs };
    return { kind: "answer", response: unavailable(retryAfterSeconds([wait], 0, jitter)) };
  }
}

/** The limits' verdict: the request may pass, or here is the answer. */
type Decision =
  | { readonly kind: "pass"; readonly fields: Readonly<Record<string, string>> }
  | { readonly kind: "answer"; readonly response: Response };

async function askLimits(
  { consume, formats, jitter }: LimitHttpOptions,
  limits: readonly HttpLimit[],
  ctx: HttpCtx,
  request: Request,
): Promise<Decision> {
  const asked = [];
  for (const limit of limits) {
    const plan = await planFor(limit, ctx, request);
    switch (plan.kind) {
      case "refuse":
        return { kind: "answer", response: notIdentified(plan.end.status, plan.end.headers) };
      case "never":
        return { kind: "answer", response: neverServed(plan.name, plan.count, plan.capacity) };
      case "ask":
        asked.push(plan);
    }
  }
  // Reckoned from before the limits are asked, a wait can only come out longer than it is.
  const now = Date.now();
  const { statuses } = await consume(
    ctx,
    asked.map((plan) => plan.request),
  );
  const answered = asked.map((plan, i): LimitedBy => {
    const status = statuses[i];
    if (!status) throw new Error(`consume gave ${statuses.length} statuses for ${asked.length} requests.`);
    return { ...plan.request, unit: plan.unit, status };
  });
  const writing = { ...(formats && { formats }), ...(jitter !== undefined && { jitter }), now };
  return answered.every(({ status }) => status.ok)
    ? { kind: "pass", fields: rateLimitHeaders(answered, writing) }
    : { kind: "answer", response: tooManyRequests(answered, writing) };
}

function corsFields({ cors = {} }: LimitHttpOptions, request: Request): Readonly<Record<string, string>> {
  return typeof cors === "function" ? cors(request) : cors;
}

async function tell(report: Report, error: unknown, request: Request): Promise<void> {
  try {
    await report(error, request);
  } catch (failure) {
    console.error("The report of a failed rate limit failed.", failure);
  }
}

function logged(error: unknown): void {
  console.error("The rate limits could not be asked.", error);
}
