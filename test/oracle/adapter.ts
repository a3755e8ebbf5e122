/** The only file here that names functions of the package. All else plays through what it returns. */
import { defineRateLimits } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import type { Database } from "./database.js";
import type { Config } from "./terms.js";

/** A definition without `keyed`: a config, and perhaps plans that replace some of its fields. */
export type Definition = Config & { readonly plans?: Readonly<Record<string, Partial<Config>>>; readonly shards?: unknown };

export interface Place {
  readonly name: string;
  readonly key: string;
}
export interface Asked extends Place {
  readonly plan?: string | undefined;
  readonly count: number;
  readonly reserve?: true | { readonly within: number } | undefined;
  readonly refundable?: true | undefined;
}
export interface Status {
  readonly ok: boolean;
  readonly retryAt?: number;
  readonly reason?: string;
  readonly remaining?: number;
  readonly takenAt?: number;
}
export type Override = { readonly until?: number | undefined } & (
  { readonly config: Config } | { readonly more: number } | { readonly unlimited: true } | { readonly block: true }
);
export interface Scheduled {
  readonly ok: boolean;
  readonly retryAt?: number;
  readonly runAt?: number;
  readonly reason?: string;
  readonly job?: Job;
}
export interface Job {
  readonly id: string;
}

type Functions = Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>;

/** Version 3 overrides only limits with this field; version 4 does not know it. To go with version 3. */
const needsOverrides = accepts({ overrides: true });
export const canAddMore = !needsOverrides;
export const knowsUsage = false;
export const hasYears = accepts({ kind: "fixed window", rate: 1, period: "year" });

function accepts(fields: object): boolean {
  try {
    defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1000, ...fields } } as never);
    return true;
  } catch {
    return false;
  }
}

/** A set of limits as deployed, on a database. Another deploy is another driver on the same database. */
export class Driver {
  readonly #functions: Functions;
  readonly #hasPlans: (name: string) => boolean;

  constructor(
    private readonly database: Database,
    limits: Readonly<Record<string, Definition>>,
  ) {
    const definitions = Object.entries(limits).map(([name, definition]) => [
      name,
      { ...definition, keyed: true, ...(needsOverrides && { overrides: true }) },
    ]);
    const set = defineRateLimits(Object.fromEntries(definitions) as never);
    this.#functions = { ...set, ...rateLimitAdmin(set) } as unknown as Functions;
    this.#hasPlans = (name) => limits[name]?.plans !== undefined;
  }

  take(asked: Asked): Promise<Status> {
    return this.#call("rateLimit", given(asked));
  }
  check(asked: Asked): Promise<Status> {
    return this.#call("checkRateLimit", given(asked));
  }
  takeAll(all: readonly Asked[]): Promise<{ ok: boolean; retryAt?: number; statuses: Status[] }> {
    return this.#call("rateLimitAll", all.map(given));
  }
  adjust(asked: Place & { plan?: string | undefined; count: number; takenAt?: number | undefined }): Promise<Status> {
    return this.#call("adjustRateLimit", given(asked));
  }
  async schedule(asked: Asked): Promise<Scheduled> {
    const { name, key, plan, count } = asked;
    return await this.#call("scheduleRateLimited", given({ name, key, plan, count }), "jobs:work", {});
  }
  async cancel(job: Job): Promise<{ canceled: boolean }> {
    return await this.#call("cancelRateLimited", job);
  }
  /** What a page shows of a quota. */
  async usage(_place: Place & { plan?: string | undefined }, _now: number): Promise<{ used: number; of: number }> {
    throw new Error("version 3 has no usageOf");
  }
  async pause(place: Place & { plan?: string | undefined; until: number }): Promise<void> {
    const { plan, ...others } = place;
    // Version 3 wants the plan.
    await this.#call("pauseRateLimit", this.#hasPlans(place.name) && needsOverrides ? { ...others, plan } : others);
  }
  async reset(place: Place): Promise<void> {
    await this.#call("resetRateLimit", place);
  }
  async override(place: Place, override: Override): Promise<void> {
    await this.#call("overrideRateLimit", given({ ...place, ...override }));
  }
  async clearOverride(place: Place): Promise<void> {
    await this.#call("clearRateLimitOverride", place);
  }
  async sweep(): Promise<void> {
    let cursor: string | undefined;
    // One call of version 3 ends with each limit.
    for (let calls = 0; calls < 10; calls++) {
      const page = await this.#call<{ isDone: boolean }>("sweepRateLimits", given({ cursor, next: "sweeps:next" }));
      if (page.isDone) return;
      return;
    }
  }

  async #call<Result>(name: string, ...args: unknown[]): Promise<Result> {
    const fn = this.#functions[name];
    if (!fn) throw new Error(`the package has no ${name}`);
    try {
      return (await this.database.run((ctx) => fn(ctx, ...args))) as Result;
    } catch (error) {
      const tooLarge = /can never be served|never be held|never holds/.test((error as Error).message);
      // Version 3 calls it misuse.
      if (tooLarge && needsOverrides) return { ok: false, reason: "too large (thrown)" } as Result;
      throw error;
    }
  }
}

function given<Args extends object>(args: Args): Args {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined)) as Args;
}
