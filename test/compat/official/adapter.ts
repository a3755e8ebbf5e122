/** What the official tests import of their component: the functions that they call directly, on our class and our tables. */
import { type RateLimitArgs, type RateLimitConfig, RateLimiter } from "convex-rate-limits/compat";
import { rateLimitTables } from "convex-rate-limits/schema";
import installed from "convex-rate-limits/test";
import { anyApi, defineSchema, mutationGeneric, queryGeneric } from "convex/server";
import type { ComponentApi } from "../../../convex/_generated/component.js";

/** Registers our component under the name of theirs. */
export function register(t: Parameters<typeof installed.register>[0]): void {
  installed.register(t, "rateLimiter");
}

/** The tests read the rows by an index of this name. */
export default defineSchema({ rateLimits: rateLimitTables.rateLimits.index("name", ["name", "key"]) });

const limiter = new RateLimiter(anyApi as unknown as ComponentApi);

type Bucket = { name: string; key?: string; config: RateLimitConfig };
type Call = Bucket & Pick<RateLimitArgs, "count" | "reserve" | "throws">;

const lib = {
  rateLimit: mutationGeneric(async (ctx, { name, ...options }: Call) => await limiter.limit(ctx, name, options)),
  checkRateLimit: queryGeneric(async (ctx, { name, ...options }: Call) => await limiter.check(ctx, name, options)),
  getValue: queryGeneric(async (ctx, { name, ...options }: Bucket) => await limiter.getValue(ctx, name, options)),
  resetRateLimit: mutationGeneric(async (ctx, { name, ...options }: Bucket) => {
    await limiter.reset(ctx, name, options);
  }),
};

/** The component as an app, since the tests call its functions in a transaction of their own. */
export const modules = { ...installed.modules, "../convex/lib.ts": () => Promise.resolve(lib) };
