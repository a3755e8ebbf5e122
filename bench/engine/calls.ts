/** Races whole calls on convex-test. Its speed is not the platform's, but both libraries use the same database. */
import { RateLimiter } from "@convex-dev/rate-limiter";
import { componentsGeneric, type GenericMutationCtx } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import { defineRateLimits as defineInComponent } from "../../src/client/component.js";
import { defineRateLimits } from "../../src/index.js";
import type { RateLimitsDataModel } from "../../src/storage/schema.js";
import { openBackend } from "./backends.js";
import { race, type Racer } from "./race.js";

const components = componentsGeneric() as unknown as {
  rateLimits: ComponentApi;
  rateLimiter: ConstructorParameters<typeof RateLimiter>[0];
};

/** The rate is so high that every call is admitted, so each call reads and writes. */
const config = { kind: "token bucket", rate: 1e9, period: 1000 } as const;
const limits = { bench: config };
const peer = new RateLimiter(components.rateLimiter, limits);
const inTables = defineRateLimits(limits);
const inComponent = defineInComponent(limits, { component: components.rateLimits });

type Limit = (ctx: GenericMutationCtx<RateLimitsDataModel>) => Promise<{ ok: boolean }>;

/** Runs one mutation per call. Each racer has its own backend. */
export async function raceCalls(callsPerRound: number, rounds: number) {
  return await race(
    [
      racer("official", (ctx) => peer.limit(ctx, "bench")),
      racer("ours, in tables", (ctx) => inTables.rateLimit(ctx, { name: "bench" })),
      racer("ours, component", (ctx) => inComponent.rateLimit(ctx, { name: "bench" })),
    ],
    { perRound: callsPerRound, rounds },
  );
}

function racer(name: string, limit: Limit): Racer {
  const t = openBackend();
  return {
    name,
    run: async (count) => {
      let admitted = 0;
      for (let i = 0; i < count; i++) if (await t.mutation(async (ctx) => (await limit(ctx)).ok)) admitted++;
      return admitted === count ? admitted : NaN;
    },
  };
}
