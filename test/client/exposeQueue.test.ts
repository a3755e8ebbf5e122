// @vitest-environment edge-runtime
/** A queue as a public query: a client sees the places of the jobs that the app shows it, and nothing else, for any arguments. */
import { makeFunctionReference } from "convex/server";
import { ConvexError } from "convex/values";
import { defineRateLimits } from "convex-rate-limits";
import { rateLimitQueue, type RateLimitQueuedJob, type RateLimitQueuePosition } from "convex-rate-limits/queue";
import { describe, expect, it } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { placeNames, type QueryCtx } from "../support/places.js";
import { useQueues } from "../support/queues.js";

useClock();

const bucket = { kind: "token bucket", rate: 1, period: 1000, capacity: 1 } as const;
const limits = { llm: { ...bucket, queue: {} }, secret: { ...bucket, queue: {} }, plain: bucket } as const;
const getter = makeFunctionReference<"query", Record<string, unknown>, RateLimitQueuePosition | null>(
  "exposed:getQueued",
);

describe.each(placeNames)("a queue exposed from the %s", (place) => {
  /** Opens the app, whose check decides which job a request is for. A signed-in client can send any arguments. */
  const open = (check: (ctx: QueryCtx, requested: string) => unknown) => {
    const { t, jobOf, position } = useQueues(place, limits, {}, check);
    const ask = (args: Record<string, unknown>, subject = "ann") => t.withIdentity({ subject }).query(getter, args);
    return { jobOf, position, ask };
  };

  it("shows a client the place of the job that the check finds, and the error that it throws", async () => {
    const jobs = new Map<string, RateLimitQueuedJob>();
    const { jobOf, position, ask } = open(async (ctx, requested) => {
      const { subject = "" } = (await ctx.auth.getUserIdentity()) ?? {};
      if (!requested.startsWith(subject)) throw new ConvexError("Not your task.");
      return jobs.get(requested);
    });
    for (const label of ["ann's first", "bob's"]) jobs.set(label, await jobOf(label));
    const last = await jobOf("ann's last");
    jobs.set("ann's last", last);
    expect(await ask({ job: "ann's first" })).toEqual({ ahead: 0, isExact: true, runAt: NOW });
    expect(await ask({ job: "bob's" }, "bob")).toEqual({ ahead: 1, isExact: true, runAt: NOW + 1000 });
    const asServer = await position(last);
    expect(asServer).toMatchObject({ ahead: 2 });
    expect(await ask({ job: "ann's last" })).toEqual(asServer);
    await expect(ask({ job: "ann's first" }, "bob")).rejects.toThrow("Not your task.");
  });

  it("refuses any other argument: a name, a key, a job as the server has it", async () => {
    const { jobOf, ask } = open(() => null);
    const job = await jobOf("first");
    const { id } = job;
    const more = [{ name: "secret" }, { key: "bob" }].map((each) => ({ job: id, ...each }));
    for (const args of [{}, { job }, { job: [id] }, { requested: id }, ...more]) {
      await expect(ask(args), JSON.stringify(args)).rejects.toThrow(/[Vv]alidator/);
    }
  });

  it("calls the check for each request, with what the client sent and nothing else", async () => {
    const asked: string[] = [];
    const { ask } = open((_ctx, requested) => void asked.push(requested));
    const requests = ["a", "a", "", "__proto__", "0".repeat(100_000), "\0"];
    for (const job of requests) expect(await ask({ job })).toBeNull();
    expect(asked).toEqual(requests);
  });

  it("accepts from the check only a job of a limit with a queue, under its own name", async () => {
    let given: unknown;
    const { jobOf, ask } = open(() => given);
    const answer = async (found: unknown) => {
      given = found;
      return await ask({ job: "any" });
    };
    const job = await jobOf("first");
    const { id } = job;
    expect(await answer(job)).toMatchObject({ ahead: 0 });
    expect(await answer(await jobOf("second", { name: "secret" }))).toMatchObject({ ahead: 0 });
    // The query looks for a job under the limit and the key that the job names.
    expect(await answer({ ...job, name: "secret" })).toBeNull();
    expect(await answer({ ...job, key: "somebody's" })).toBeNull();
    await expect(answer({ ...job, name: "plain" })).rejects.toThrow('"plain": has no queue');
    await expect(answer({ ...job, name: "unknown" })).rejects.toThrow("unknown");
    for (const none of [{}, { id }, id, true, { name: "llm" }, { name: "llm", id: "" }, { name: 1, id }]) {
      const problem = "needs the job that enqueueRateLimited returned";
      await expect(answer(none), JSON.stringify(none)).rejects.toThrow(problem);
    }
  });
});

it("exposeQueue requires the check, and exposes nothing without it", () => {
  const { exposeQueue } = rateLimitQueue(defineRateLimits(limits, { queueModule: "limits" }));
  for (const options of [undefined, {}, { job: "own" }, { job: null }]) {
    expect(() => exposeQueue(options as never), JSON.stringify(options)).toThrow("exposeQueue");
  }
  expect(() => exposeQueue({ job: () => null, key: () => "x" } as never)).toThrow('"key" is not a field');
});
