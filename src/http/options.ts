/** The wrapper's options. */
import type { Mode } from "../client/definitionTypes.js";
import type { InComponent, InTables } from "../client/place.js";
import type { RateLimitConfig } from "../wire/configs.js";
import type { DenialAnswer, HttpDenial } from "./answers.js";
import type { HttpMutation } from "./ask.js";
import type { HeaderFields } from "./fields.js";
import type { RateLimitHeadersOptions } from "./headers.js";
import type { LimitedBy } from "./quota.js";
import type { HttpCost, HttpCtx, KeySource } from "./request.js";

/** One request, as the functions of a limit see it; `key` is what was chosen, undefined for `"everyone"`. */
type HttpCall = { ctx: HttpCtx; request: Request; key: string | undefined };

/** A request without a key gets 403 (`"deny"`), a status of your own, or one bucket with all other such requests (`"share"`). */
export type Keyless = "deny" | "share" | { readonly status: 400 | 401 | 403; readonly headers?: HeaderFields };

/** The caller and its terms: the answer of one look-up. */
export type Caller = {
  /** The config in place of the definition's, or a function from the limit's name to it if several limits share the look-up. */
  config?: RateLimitConfig | ((name: string) => RateLimitConfig);
  /** The plan, of a limit with plans. */
  plan?: string;
} & ({ key: string; without?: undefined } | { key?: undefined; without: Keyless });

/** The options of one limit, as JavaScript may pass them. */
export interface AnyHttpLimit {
  /** One of your limits, or the name of one that is not defined; clients see it. */
  limit: string;
  /** How the limit behaves in place of its definition, for all requests or by request. */
  config?: RateLimitConfig | ((call: HttpCall) => RateLimitConfig | Promise<RateLimitConfig>) | undefined;
  /** Which of the limit's plans applies, for all requests or by request. */
  plan?: PlanChoice | undefined;
  /** The key of the bucket: from the first of these sources that finds one. `"everyone"` is one bucket for the whole service. */
  by?: "everyone" | KeySource | readonly KeySource[] | undefined;
  without?: Keyless | undefined;
  /** Key and config from one look-up. Limits that are given the same function share one call of it per request. */
  identify?: ((ctx: HttpCtx, request: Request) => Caller | Promise<Caller>) | undefined;
  /** Whether the limit is enforced; default: the definition's mode. */
  mode?: Mode;
  /** Whether the limit applies to a request; without it, to all. */
  when?: (call: Omit<HttpCall, "key">) => boolean | Promise<boolean>;
  /** How many tokens the request takes, default 1. */
  cost?: number | HttpCost;
  /** Sent as the draft's `pk`, for clients with several quotas. Anyone may read it: do not give the key itself. */
  partitionKey?: (call: HttpCall) => string | undefined | Promise<string | undefined>;
  /**
   * The tokens that come back once the handler has answered. `"successful"`: all if the response is below 400. `"failed"`: all if it is 400
   * or above or the handler threw. For a function, `response` is undefined when the handler threw.
   */
  refund?:
    | "successful"
    | "failed"
    | ((
        response: Response | undefined,
        request: Request,
        limit: LimitedBy & { count: number },
      ) => TokensBack | Promise<TokensBack>);
}
/** True for all, or a number of tokens: at most those that the request took; a negative one charges more. */
type TokensBack = boolean | number;

type Given<Field extends keyof AnyHttpLimit> = { [Name in Field]-?: NonNullable<AnyHttpLimit[Name]> };
type PlanChoice<Plan extends string = string> = Plan | ((call: HttpCall) => Plan | Promise<Plan>);

type LimitOfYours<Limits> = {
  [Name in keyof Limits]: {
    /** One of your limits; clients see its name. */ limit: Name & string;
  } & (Limits[Name] extends { plans: infer Plans }
    ? { plan: PlanChoice<keyof Plans & string>; config?: undefined }
    : Pick<AnyHttpLimit, "config"> & { plan?: string extends keyof Limits ? PlanChoice : undefined });
};

type CommonTerms = Pick<AnyHttpLimit, "mode" | "when" | "cost" | "partitionKey" | "refund">;

/** A limit that a request is held to. */
export type HttpLimit<Limits = Record<string, unknown>> = CommonTerms &
  (
    | (Given<"limit" | "identify"> & { by?: undefined; without?: undefined; config?: undefined; plan?: undefined })
    | ((LimitOfYours<Limits>[keyof Limits] | (Given<"limit" | "config"> & { plan?: undefined })) &
        (
          | { by: "everyone"; without?: undefined; identify?: undefined }
          | { by: KeySource | readonly KeySource[]; without: Keyless; identify?: undefined }
        ))
  );

export interface CommonOptions extends Omit<RateLimitHeadersOptions, "now"> {
  /** Which requests pass without being counted; it is not asked about OPTIONS, which always does. */
  skip?: (request: Request, ctx: HttpCtx) => boolean | Promise<boolean>;
  /** The answer to a denied request, default problem details. */
  denial?: DenialAnswer;
  /** Called for each denial, for logs. If it returns a response, or a promise of one, that is the answer; if it throws, that is reported. */
  onDenied?: (denial: HttpDenial) => unknown;
  /** Header fields for the answers that are not the handler's: `Access-Control-Allow-Origin` and the like. */
  cors?: HeaderFields | ((request: Request) => HeaderFields | Promise<HeaderFields>);
  /** When the limits cannot be asked: `"closed"` (default) answers 503 with Retry-After, `"open"` serves, unlimited, and needs `report`. */
  onError?: "closed" | "open";
  /** Called with each error that no client should see; by default they are logged. Errors of `report` itself are logged as well. */
  report?: (error: unknown, request: Request) => void | Promise<void>;
  /** For limits in your tables: the function that `httpMutation(limits)` made. */
  via?: HttpMutation;
}

/** The compiler shows this name: `onDecision` of limits in the component gets the ctx of the HTTP action, so each request would be a 503. */
interface OnDecisionNeedsADatabaseThatHttpActionsHaveNot {
  readonly onDecision: never;
}

/** The options of `limitHttp`: those of one limit, or a list of limits that let a request pass together or are not charged. */
export type LimitHttpOptions<
  Limits = Record<string, unknown>,
  Contexts extends InTables | InComponent = InComponent,
> = CommonOptions &
  (
    | HttpLimit<Limits>
    | { /** Their names are checked when the module is loaded. */ limits: readonly HttpLimit[]; limit?: undefined }
  ) &
  (Contexts extends InComponent
    ? "db" extends keyof (Contexts & { decides: unknown })["decides"]
      ? { via: OnDecisionNeedsADatabaseThatHttpActionsHaveNot }
      : unknown
    : { via: HttpMutation }) &
  ({ onError?: "closed" } | ({ onError: "open" } & Required<Pick<CommonOptions, "report">>));

/** A limit of the options, with its mode or that of its definition. */
export type CheckedLimit = AnyHttpLimit & { mode: Mode };
export type AnyOptions = CommonOptions & Partial<AnyHttpLimit> & { limits?: readonly AnyHttpLimit[] };
