/** The only file here that names functions of the package. All else plays through what it returns. */
import { defineRateLimits } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { usageOf } from "convex-rate-limits/client";
import { rateLimitJobs } from "convex-rate-limits/jobs";
import { rateLimitLive } from "convex-rate-limits/live";
import { present } from "../../src/wire/present.js";
import type { FakeDb } from "../support/fakeDb.js";
import { jobs } from "../support/stage.js";
import type { Config } from "./terms.js";

/** A config, and perhaps plans that replace some of its fields. */
export type Definition = Config & {
  readonly plans?: Readonly<Record<string, Partial<Config>>>;
  readonly shards?: unknown;
};

export interface Place {
  readonly name: string;
  readonly key: string;
  readonly plan?: string | undefined;
}
export interface Asked extends Place {
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
  | { readonly config: Config }
  | { readonly more: number }
  | { readonly unlimited: true }
  | { readonly block: true }
);
export interface Job {
  readonly takenAt?: number;
  readonly id: string;
}
export interface Scheduled extends Pick<Status, "ok" | "retryAt" | "reason"> {
  readonly runAt?: number;
  readonly job?: Job;
}

type Functions = Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>;

/** A set of limits as deployed, on a database. Another deploy is another driver on the same database. */
export class Driver {
  readonly #functions: Functions;

  constructor(
    private readonly database: FakeDb,
    limits: Readonly<Record<string, Definition>>,
  ) {
    const keyed = Object.entries(limits).map(([name, definition]) => [name, { ...definition, keyed: true }]);
    const set = defineRateLimits(Object.fromEntries(keyed) as never);
    const functions = { ...set, ...rateLimitAdmin(set), ...rateLimitJobs(set), ...rateLimitLive(set) };
    this.#functions = functions as unknown as Functions;
  }

  async take(asked: Asked): Promise<Status> {
    return await this.#call("rateLimit", asked);
  }
  /** What it would answer now. Nothing is written. */
  async tried(asked: Asked): Promise<Status> {
    return await this.database.transaction(
      async (ctx) => (await this.#within(ctx, "rateLimit", asked)) as Status,
      true,
    );
  }
  async check(asked: Asked): Promise<Status> {
    return await this.#call("checkRateLimit", asked);
  }
  /** Charges, or gives back if the count is negative. */
  async adjust(asked: Place & { readonly count: number; readonly takenAt?: number | undefined }): Promise<Status> {
    return await this.#call("adjustRateLimit", asked);
  }
  async schedule(asked: Place & { readonly count: number }): Promise<Scheduled> {
    return await this.#call("scheduleRateLimited", asked, jobs.run, {});
  }
  async cancel(job: Job | undefined): Promise<{ readonly canceled: boolean }> {
    return await this.#call("cancelRateLimited", job ?? {});
  }
  /** What a page shows of a quota. */
  async usage(place: Place, now: number): Promise<{ readonly used: number; readonly of: number }> {
    return usageOf(await this.#call("getRateLimit", place), now);
  }
  async pause({ name, key, until }: Place & { readonly until: number }): Promise<void> {
    await this.#call("pauseRateLimit", { name, key, until });
  }
  async reset(place: Place): Promise<void> {
    await this.#call("resetRateLimit", place);
  }
  async override(place: Place, override: Override): Promise<void> {
    await this.#call("overrideRateLimit", { ...place, ...override });
  }
  async clearOverride(place: Place): Promise<void> {
    await this.#call("clearRateLimitOverride", place);
  }

  async #call<Result>(name: string, args: object, ...others: unknown[]): Promise<Result> {
    return (await this.database.transaction((ctx) => this.#within(ctx, name, args, ...others))) as Result;
  }
  async #within(ctx: object, name: string, args: object, ...others: unknown[]): Promise<unknown> {
    return await this.#functions[name]?.(ctx, present(args), ...others);
  }
}
