// @vitest-environment edge-runtime
/** A queue as a public query: a client sees the places of the jobs that the app shows it, and nothing else, for any arguments. */
import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { ConvexError } from "convex/values";
import { defineRateLimits, type RateLimitDefinitions } from "convex-rate-limits";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";
import { rateLimitQueue, type RateLimitQueuedJob, type RateLimitQueuePosition } from "convex-rate-limits/queue";
import { describe, expect, it } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import {
  type AnyRateLimits,
  component,
  openBackend,
  placeNames,
  type PlaceName,
  type QueryCtx,
  withAll,
} from "../support/places.js";
import { run } from "../support/queues.js";

useClock();

const bucket = { kind: "token bucket", rate: 1, period: 1000, capacity: 1 } as const;
const limits: RateLimitDefinitions = { llm: { ...bucket, queue: {} }, secret: { ...bucket, queue: {} }, plain: bucket };

type Check = (ctx: QueryCtx, requested: string) => unknown;

/** Opens the app: users see their own tasks. A request for another user's task is refused with a message. */
async function openApp(place: PlaceName, check?: Check) {
  const functions: AnyRateLimits = withAll(
    place === "tables" ? defineRateLimits(limits, { queueModule: "limits" }) : defineInComponent(limits, { component }),
  );
  const jobs = new Map<string, { owner: string; job: RateLimitQueuedJob }>();
  const ownJob: Check = async (ctx, requested) => {
    const identity = await ctx.auth.getUserIdentity();
    if (!identity) throw new ConvexError("Sign in first.");
    const task = jobs.get(requested);
    if (task && task.owner !== identity.subject) throw new ConvexError("Not your task.");
    return task?.job;
  };
  const load = (module: object) => async () => await Promise.resolve(module);
  const t = openBackend({
    "./jobs.ts": load({ run: internalMutationGeneric({ handler: async () => await Promise.resolve(null) }) }),
    "./exposed.ts": load(functions.exposeQueue({ job: (check ?? ownJob) as never })),
    ...(place === "tables" && { "./limits.ts": load(functions.exposeQueueWorker()) }),
  });
  const enqueue = async (owner: string, name = "llm") => {
    const result = await t.mutation((ctx) => functions.enqueueRateLimited(ctx, { name }, run, { label: owner }));
    if (!result.ok) throw new Error("There was no room for the job.");
    const id = `task ${jobs.size}`;
    jobs.set(id, { owner, job: result.job });
    return { id, job: result.job };
  };
  const tasks = [await enqueue("ann"), await enqueue("bob"), await enqueue("ann")] as const;
  const getter = makeFunctionReference<"query", Record<string, unknown>, RateLimitQueuePosition | null>(
    "exposed:getQueued",
  );
  /** Calls the query as a client, which can send any arguments. */
  const ask = async (subject: string | undefined, args: Record<string, unknown>) =>
    await (subject === undefined ? t : t.withIdentity({ subject })).query(getter, args);
  return { t, tasks, ask, enqueue, ...functions };
}

describe.each(placeNames)("a queue exposed from the %s", (place) => {
  it("shows each client the places of its own jobs, as the server sees them", async () => {
    const { t, ask, tasks, getQueued } = await openApp(place);
    const [first, bobs, last] = tasks;
    expect(await ask("ann", { job: first.id })).toEqual({ ahead: 0, isExact: true, runAt: NOW });
    expect(await ask("bob", { job: bobs.id })).toEqual({ ahead: 1, isExact: true, runAt: NOW + 1000 });
    const asServer = await t.query(async (ctx) => await getQueued(ctx as never, last.job));
    expect(await ask("ann", { job: last.id })).toEqual(asServer);
    expect(asServer).toMatchObject({ ahead: 2 });
  });

  it("shows no client the jobs of others: the client gets the error that the app's check throws", async () => {
    const { ask, tasks } = await openApp(place);
    await expect(ask("bob", { job: tasks[0].id })).rejects.toThrow("Not your task.");
    await expect(ask(undefined, { job: tasks[0].id })).rejects.toThrow("Sign in first.");
  });

  it("refuses any other argument: a name, a key, a job as the server has it", async () => {
    const { ask, tasks } = await openApp(place);
    const [{ id, job }] = tasks;
    const hostile = [
      {},
      { job },
      { job: [id] },
      { job: id, name: "secret" },
      { job: id, key: "bob" },
      { requested: id },
    ];
    for (const args of hostile) await expect(ask("ann", args), JSON.stringify(args)).rejects.toThrow(/[Vv]alidator/);
  });

  it("calls the check for each request, with what the client sent and nothing else", async () => {
    const asked: string[] = [];
    const { ask } = await openApp(place, (_ctx, requested) => void asked.push(requested));
    const requests = ["a", "a", "", "__proto__", "0".repeat(100_000), "\0"];
    for (const job of requests) expect(await ask("ann", { job })).toBeNull();
    expect(asked).toEqual(requests);
  });

  it("accepts from the check only a job of a limit with a queue, under its own name", async () => {
    const answers: unknown[] = [];
    const { ask, tasks, enqueue } = await openApp(place, () => answers.at(-1));
    const [{ id, job }] = tasks;
    const answer = async (given: unknown) => {
      answers.push(given);
      return await ask("ann", { job: "any" });
    };
    expect(await answer(job)).toMatchObject({ ahead: 0 });
    expect(await answer(undefined)).toBeNull();
    // The query looks for a job under the limit and the key that the job names.
    expect(await answer({ ...job, name: "secret" })).toBeNull();
    expect(await answer({ ...job, key: "somebody's" })).toBeNull();
    expect(await answer((await enqueue("ann", "secret")).job)).toMatchObject({ ahead: 0 });
    await expect(answer({ ...job, name: "plain" })).rejects.toThrow('"plain": has no queue');
    await expect(answer({ ...job, name: "unknown" })).rejects.toThrow("unknown");
    for (const none of [{}, { id }, id, true, { name: "llm" }, { name: "llm", id: "" }, { name: 1, id: job.id }]) {
      await expect(answer(none), JSON.stringify(none)).rejects.toThrow(
        "needs the job that enqueueRateLimited returned",
      );
    }
  });
});

describe("exposeQueue", () => {
  it("requires the check, and exposes nothing without it", () => {
    const { exposeQueue } = rateLimitQueue(defineRateLimits(limits, { queueModule: "limits" }));
    for (const options of [undefined, {}, { job: "own" }, { job: null }]) {
      expect(() => exposeQueue(options as never), JSON.stringify(options)).toThrow("exposeQueue");
    }
    expect(() => exposeQueue({ job: () => null, key: () => "x" } as never)).toThrow('"key" is not a field');
  });
});
