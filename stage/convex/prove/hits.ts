/** The arguments and the answer of one call on a limit: the same in your tables, in the component and in the official component. */
import type { RateLimitConfig } from "convex-rate-limits";
import { type ObjectType, v } from "convex/values";
import { mutation, type MutationCtx } from "../_generated/server.js";
import { admit, secretArgs } from "./secret.js";

const hitArgs = {
  ...secretArgs,
  key: v.string(),
  /** Tokens a second. */
  rate: v.number(),
  capacity: v.number(),
  shards: v.union(v.number(), v.literal("auto")),
};

const vHit = v.object({
  ok: v.boolean(),
  /** Only a denial has one. */
  retryAt: v.optional(v.number()),
  /** The server's clock around the call. On a deployment it stands still, so they are equal. */
  before: v.number(),
  after: v.number(),
});

/** A second in ms. Not the package's constant: the empty mutation must not load the package. */
export const SECOND = 1000;

interface Answer {
  readonly ok: boolean;
  readonly retryAt?: number | undefined;
}

/** A mutation that reads the clock before and after the call. */
export const timedMutation = (
  ask: (ctx: MutationCtx, asked: Omit<ObjectType<typeof hitArgs>, "secret">) => Promise<Answer>,
) =>
  mutation({
    args: hitArgs,
    returns: vHit,
    handler: async (ctx, { secret, ...asked }) => {
      admit(secret);
      const before = Date.now();
      const { ok, retryAt } = await ask(ctx, asked);
      return { ok, ...(ok || retryAt === undefined ? {} : { retryAt }), before, after: Date.now() };
    },
  });

interface Call {
  readonly name: "proof";
  readonly key: string;
  readonly config: RateLimitConfig;
}

/** The same for a call of this package. */
export const timedCall = (call: (ctx: MutationCtx, args: Call) => Promise<Answer>) =>
  timedMutation((ctx, { key, ...terms }) =>
    call(ctx, { name: "proof", key, config: { kind: "token bucket", period: SECOND, ...terms } }),
  );
