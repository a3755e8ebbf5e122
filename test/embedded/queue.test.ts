/** Hundreds of jobs at once on the embedded backend, cancels by hand, and a page that asks for a place again and again: drained to the end. */
import {
  defineSchema,
  defineTable,
  internalMutationGeneric,
  makeFunctionReference,
  mutationGeneric,
} from "convex/server";
import { type GenericId, v } from "convex/values";
import { defineRateLimits } from "convex-rate-limits";
import { rateLimitQueueTables, vRateLimitQueuedJob } from "convex-rate-limits/queue/schema";
import { rateLimitTables } from "convex-rate-limits/schema";
import installed from "convex-rate-limits/test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Backend, openBackend } from "../../example/embedded/backend.js";
import { component, placeNames, type PlaceName, withAll } from "../support/places.js";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";

/** More than a page counts ahead of a job, and than a worker starts in a run. */
const JOBS = 400;
const RATE = 200;
const NOW = Date.UTC(2026, 0, 1);

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const runTask = makeFunctionReference<"mutation">("tasks:run");

const limits = {
  llm: { kind: "token bucket", rate: RATE, period: 1000, capacity: 20, queue: { maxQueued: JOBS } },
} as const;

function openApp(place: PlaceName) {
  const { enqueueRateLimited, cancelQueued, exposeQueue, exposeQueueWorker } = withAll(
    place === "tables" ? defineRateLimits(limits, { queueModule: "limits" }) : defineInComponent(limits, { component }),
  );
  const started: { number: number; at: number }[] = [];
  const tasks = {
    ask: mutationGeneric({
      args: { jobs: v.number() },
      handler: async (ctx, { jobs }) => {
        const ids: string[] = [];
        for (let number = 0; number < jobs; number++) {
          const result = await enqueueRateLimited(
            ctx as never,
            { name: "llm" },
            runTask as never,
            {
              number,
            } as never,
          );
          if (!result.ok) throw new Error("There was no room for the job.");
          ids.push(await ctx.db.insert("tasks", { job: result.job }));
        }
        return ids;
      },
    }),
    cancel: mutationGeneric({
      args: { task: v.string() },
      handler: async (ctx, { task }) => {
        const { job } = (await ctx.db.get(task as GenericId<"tasks">)) as { job: { name: string; id: string } };
        return (await cancelQueued(ctx as never, job)).canceled;
      },
    }),
    run: internalMutationGeneric({
      args: { number: v.number() },
      handler: async (_ctx, { number }) => {
        started.push({ number, at: Date.now() - NOW });
        return await Promise.resolve(null);
      },
    }),
    ...exposeQueue({
      job: async (ctx, requested) => {
        const id = ctx.db.normalizeId("tasks", requested);
        const task = id && ((await ctx.db.get(id)) as { job: { name: string; id: string } } | null);
        return task?.job ?? null;
      },
    }),
  };
  const load = (module: object) => async () => await Promise.resolve(module);
  const backend = openBackend({
    schema: defineSchema({
      ...rateLimitTables,
      ...rateLimitQueueTables,
      tasks: defineTable({ job: vRateLimitQueuedJob }),
    }),
    modules: {
      "./_generated/api.ts": load({}),
      "./tasks.ts": load(tasks),
      ...(place === "tables" && { "./limits.ts": load(exposeQueueWorker()) }),
    },
    components: { rateLimits: { schema: installed.schema, modules: installed.modules } },
  });
  return { backend, started };
}

async function call(
  backend: Backend,
  path: string,
  args: Record<string, string | number>,
  type: "query" | "mutation" = "mutation",
): Promise<unknown> {
  const outcome = await backend.run(type, path, args);
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.value;
}

/** Lets time pass, and what is due happen. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10) {
    await vi.advanceTimersByTimeAsync(10);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it.each(placeNames)(
  "in the %s: each runs once, in order, at the limit's rate; what is cancelled never runs",
  async (place) => {
    const { backend, started } = openApp(place);
    const ids = (await call(backend, "tasks:ask", { jobs: JOBS })) as string[];
    const watchedAt = 0.9 * JOBS;
    const watched = ids[watchedAt] ?? "";
    const places: unknown[] = [];
    const canceled = new Set<number>();
    for (let at = 0; started.length < JOBS - canceled.size; at++) {
      expect(at, "hundredths of a second").toBeLessThan(300);
      await pass(10);
      const value = await call(backend, "tasks:getQueued", { job: watched }, "query");
      if (JSON.stringify(value) !== JSON.stringify(places.at(-1))) places.push(value);
      // By hand: every twentieth of a second one that waits far behind, and one that has its moment or has run.
      const number = JOBS - 1 - at;
      if (at % 5 === 0 && number > JOBS / 2 && number !== watchedAt) {
        if (await call(backend, "tasks:cancel", { task: ids[number] ?? "" })) canceled.add(number);
        if (at > 0) expect(await call(backend, "tasks:cancel", { task: ids[0] ?? "" })).toBe(false);
      }
    }
    backend.close();
    expect(canceled.size).toBeGreaterThan(10);
    const expected = Array.from({ length: JOBS }, (_, number) => number).filter((number) => !canceled.has(number));
    expect(started.map(({ number }) => number)).toEqual(expected);
    for (const [i, { at }] of started.entries()) expect(at).toBeGreaterThanOrEqual((1000 * (i + 1 - 20)) / RATE);
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1);
    // The page has seen the place move up, to the end. A run starts jobs for 200 ms, so it moves five times a second.
    const ahead = places.map((value) => (value as { ahead: number } | null)?.ahead ?? -1);
    expect(ahead.length).toBeGreaterThanOrEqual(Math.floor((5 * (watchedAt - canceled.size)) / RATE));
    expect(ahead).toEqual([...ahead].sort((a, b) => b - a));
    expect([ahead[0], ahead.at(-1)]).toEqual([200, -1]);
  },
);
