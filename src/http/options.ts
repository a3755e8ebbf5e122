/** The wrapper's options. */
import type { Mode } from "../client/definitionTypes.js";
import type { InComponent, InTables } from "../client/place.js";
import type { RateLimitConfig } from "../wire/configs.js";
import type { HttpMutation } from "./ask.js";
import type { HeaderFields } from "./fields.js";
import type { LimitedBy, RateLimitHeadersOptions } from "./headers.js";
import type { HttpCost, HttpCtx, KeySource } from "./request.js";

/** A request without a key gets 403 (`"deny"`), a status of your own, or one bucket with all other such requests. */
export type Keyless = "deny" | "share" | { readonly status: 400 | 401 | 403; readonly headers?: HeaderFields };

export interface CallerTerms {
  /** The plan, for limits with plans; the others ignore it. */
  plan?: string | undefined;
  /** A config in place of the definition's, for limits to which the plan does not apply. */
  config?: RateLimitConfig | undefined;
}

/** The caller and its terms: what `identify` returns. */
export type Caller = CallerTerms & ({ key: string; without?: undefined } | { key?: undefined; without: Keyless });

/** Whom a limit counts: the first of the sources that finds a key, or `"everyone"`, one bucket for all. */
type Counted = { by: "everyone"; without?: undefined } | { by: KeySource | readonly KeySource[]; without: Keyless };

/** The options of one limit, as JavaScript may pass them. */
export interface AnyHttpLimit extends CallerTerms {
  /** One of your limits, or the name of one that is not defined; clients see it. */
  limit: string;
  by?: Counted["by"] | undefined;
  without?: Keyless | undefined;
  /** The caller, its plan or config. Limits that are given the same function share one call of it per request. */
  identify?: ((ctx: HttpCtx, request: Request) => Caller | Promise<Caller>) | undefined;
  /** Whether the limit is enforced; default: the definition's mode. */
  mode?: Mode;
  /** Whether the limit applies to a request; without it, to all. */
  when?: (call: { ctx: HttpCtx; request: Request }) => boolean | Promise<boolean>;
  /** How many tokens the request takes, default 1. */
  cost?: number | HttpCost;
  /**
   * The tokens that come back once the handler has answered. `"successful"`: all if the response is below 400.
   * `"failed"`: all if it is 400 or above or the handler threw. A function gets undefined as `response` if the handler
   * threw. It returns true for all, or a number of at most those that the request took; a negative one charges more.
   */
  refund?: "successful" | "failed" | RefundRule;
}
type RefundRule = (
  response: Response | undefined,
  request: Request,
  limit: LimitedBy & { count: number },
) => boolean | number | Promise<boolean | number>;

/** The plan of a limit with plans, or a config in place of any other. */
type TermsOf<Definition> = Definition extends { plans: infer Plans }
  ? { plan: keyof Plans & string; config?: undefined }
  : { plan?: unknown extends Definition ? string : undefined; config?: RateLimitConfig | undefined };

/** A defined limit, or any name with a config of its own. */
type Named<Limits> =
  | { [Name in keyof Limits]: { limit: Name & string } & TermsOf<Limits[Name]> }[keyof Limits]
  | { limit: string; config: RateLimitConfig; plan?: undefined };

type Identified = Required<Pick<AnyHttpLimit, "limit" | "identify">>;
type NoneOf<Fields extends keyof AnyHttpLimit> = Partial<Record<Fields, undefined>>;
type Other = Omit<AnyHttpLimit, keyof Identified | keyof Counted | keyof CallerTerms>;

/** A limit that a request is held to. */
export type HttpLimit<Limits = Record<string, unknown>> = Other &
  ((Identified & NoneOf<keyof Counted | keyof CallerTerms>) | (Counted & NoneOf<"identify"> & Named<Limits>));

/** A denied request, for logs or an answer of the app's own. */
export interface HttpDenial {
  readonly ctx: HttpCtx;
  readonly request: Request;
  /** The limits that denied. */
  readonly limits: readonly LimitedBy[];
  /** When the request succeeds if no other comes between, in ms since the epoch; absent if no wait helps. */
  readonly retryAt?: number;
  /** Whole seconds: what `Retry-After` says; absent if no wait helps. */
  readonly retryAfter?: number;
}

export interface CommonOptions extends Omit<RateLimitHeadersOptions, "now"> {
  /** Which requests pass without being counted. Any other OPTIONS gets 204 with the fields of `cors`. */
  skip?: (request: Request, ctx: HttpCtx) => boolean | Promise<boolean>;
  /**
   * Called for each denial. If it returns a response, that is the answer, with `Retry-After` and the limits' fields;
   * else problem details are sent. If it throws, that is reported.
   */
  // oxlint-disable-next-line typescript/no-invalid-void-type -- One that only logs returns nothing.
  onDenied?: (denial: HttpDenial) => Response | void | Promise<Response | void>;
  /** Header fields for the answers that are not the handler's: `Access-Control-Allow-Origin` and the like. */
  cors?: HeaderFields | ((request: Request) => HeaderFields | Promise<HeaderFields>);
  /** When the limits cannot be asked: `"closed"` (default) answers 503, `"open"` serves, and needs `report`. */
  onError?: "closed" | "open";
  /** Called with each error that no client should see; by default they are logged, as are errors of `report` itself. */
  report?: (error: unknown, request: Request) => void | Promise<void>;
  /** For limits in your tables: the function that `httpMutation(limits)` made. */
  via?: HttpMutation;
}

/** The options of `limitHttp`: those of one limit, or a list of limits that let a request pass together. */
export type LimitHttpOptions<
  Limits = Record<string, unknown>,
  Contexts extends InTables | InComponent = InComponent,
> = CommonOptions &
  (HttpLimit<Limits> | { /** Names are checked at load. */ limits: readonly HttpLimit[]; limit?: undefined }) &
  (Contexts extends InComponent ? unknown : { via: HttpMutation }) &
  ({ onError?: "closed" } | ({ onError: "open" } & Required<Pick<CommonOptions, "report">>));

/** A limit of the options, with its mode or that of its definition. */
export type CheckedLimit = AnyHttpLimit & { mode: Mode };
export type AnyOptions = CommonOptions & Partial<AnyHttpLimit> & { limits?: readonly AnyHttpLimit[] };
