/** A limit of the wrapper's options. */
import type { RateLimitDefinition } from "../client/args.js";
import type { HttpCost } from "./costs.js";
import type { HttpCtx } from "./ctx.js";
import type { KeyChoice, KeyEnd } from "./keyChoice.js";
import type { QuotaUnit } from "./quota.js";

/** One request, as the functions of a limit see it; `key` is what was chosen, undefined for `everyone`. */
interface Call {
  ctx: HttpCtx;
  request: Request;
  key: string | undefined;
}

/** Who is calling, and what that caller is allowed: the answer of one look-up. */
export interface Caller {
  /** The caller's own bucket, or what happens to a request of nobody known: `deny`, `denyWith(…)`, `sharedBucket(…)`. */
  key: string | KeyEnd;
  /** The config, or a function from the limit's name to it where several limits share the look-up. */
  config: RateLimitDefinition | ((name: string) => RateLimitDefinition);
}

/** A limit that a request is held to. */
export type HttpLimit = HttpLimitFields &
  (
    | {
        /** Whose bucket: `firstOf(…)`, or `everyone`. */
        key: KeyChoice;
        /** How the limit behaves, for all requests or by request (plans); `key` is what `key` chose. */
        config: RateLimitDefinition | ((call: Call) => RateLimitDefinition | Promise<RateLimitDefinition>);
        identify?: undefined;
      }
    | {
        /** Key and config from one look-up. Limits that are given the same function share one call of it per request. */
        identify: (ctx: HttpCtx, request: Request) => Caller | Promise<Caller>;
        key?: undefined;
        config?: undefined;
      }
  );

interface HttpLimitFields {
  /** Tells the limit's buckets from those of others, and is what clients see as the policy's name. */
  name: string;
  /** Whether the limit applies to a request; without it, to all. */
  when?: (call: Omit<Call, "key">) => boolean | Promise<boolean>;
  /** How many tokens the request takes, default `fixed(1)`. */
  cost?: HttpCost;
  /** What a token stands for, when it is not a request. */
  unit?: QuotaUnit;
  /** Sent as the draft's `pk`, for clients with several quotas. Anyone may read it: do not give the key itself. */
  partitionKey?: (call: Call) => string | undefined | Promise<string | undefined>;
}
