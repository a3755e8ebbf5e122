/** Limits with plans and a queue: the jobs of a bucket wait by the plan that the last of them was enqueued under. */
import { describe, expect, it } from "vitest";
import { HOUR, MINUTE, type RateLimitDefinitions, SECOND } from "convex-rate-limits";
import { NOW, useClock } from "../support/clock.js";
import { changeIn, documentsIn, placeNames } from "../support/places.js";
import { useQueues } from "../support/queues.js";

useClock();

const shared = { kind: "token bucket", period: MINUTE, keyed: true, queue: {} } as const;
const plans = { free: { rate: 1, capacity: 1 }, pro: { rate: 60, capacity: 10 } } as const;
const planned: RateLimitDefinitions = { llm: { ...shared, plans } };

describe.each(placeNames)("in the %s", (place) => {
  const open = (limits = planned) => useQueues(place, limits, { key: "a" });

  it("each key's jobs wait by its plan, and its rows say so", async () => {
    const { enqueueAll, jobOf, position, until, log, snapshot } = open();
    await enqueueAll(["a1", "a2"], { plan: "free" });
    const pro = { key: "b", plan: "pro", count: 10 };
    await enqueueAll(["b1"], pro);
    expect(await position(await jobOf("b2", pro))).toEqual({ ahead: 1, isExact: true, runAt: NOW + 10 * SECOND });
    await until(5 * MINUTE);
    expect(log().sort()).toEqual(["a1 0", `a2 ${MINUTE}`, "b1 0", `b2 ${10 * SECOND}`]);
    expect(await snapshot({ key: "a" })).toMatchObject({ plan: "free", config: { rate: 1 } });
  });

  it.each([
    ["an upgrade brings forward what waits", "free", "pro", 1, [20, 1010, 2010, 3010]],
    ["a downgrade puts it off", "pro", "free", 10, [20, 10_010, 671_960, 1_271_960]],
  ])("%s", async (_what, before, after, count, expected) => {
    const { pass, enqueueAll, jobOf, position, until, log } = open();
    await enqueueAll(["a1", "a2", "a3"], { plan: before, count });
    // In steps of 10 ms: the worker comes with the first. Before a downgrade the second job has its start time, 1.05 s ahead: it keeps
    // that, and the 1.05 tokens that it owes take 63 s more under the new plan.
    await pass(before === "pro" ? 9.5 * SECOND : 500);
    const last = await jobOf("a4", { plan: after, count });
    await pass(100);
    await until(HOUR);
    expect(log()).toEqual(expected.map((at, i) => `a${i + 1} ${at}`));
    expect(await position(last)).toBeNull();
  });

  it.each([false, true])("a job is settled by its key's plan; the worker's row gone meanwhile: %s", async (isGone) => {
    const { t, enqueue, pass, until, order, snapshot } = open();
    await enqueue("a1", { plan: "pro", count: 10, settles: "mutation" }, { used: 4 });
    await pass(10);
    expect(await documentsIn(place, t, "rateLimitWorkers")).toMatchObject([{ plan: "pro" }]);
    if (isGone) await changeIn(place, t, "rateLimitWorkers", null);
    await until(MINUTE);
    expect(order()).toEqual(["a1"]);
    expect(await snapshot({ key: "a" })).toMatchObject({ plan: "pro", value: 6, config: { rate: 60 } });
  });

  it("a job that ends after a downgrade is settled by the plan that its bucket has by then", async () => {
    const { enqueue, enqueueAll, pass, until, log } = open();
    const pro = { plan: "pro", count: 10 };
    await enqueueAll(["a1"], pro);
    await enqueue("a2", { ...pro, settles: "mutation" }, { used: 9 });
    // The second is paid a second before it starts.
    await pass(9.5 * SECOND);
    await enqueueAll(["a3"], { plan: "free" });
    await until(5 * MINUTE);
    // The token that came back pays the debt of that second, which a minute's rate has not.
    expect(log().map((start) => start.slice(0, 5))).toEqual(["a1 20", "a2 10", "a3 71"]);
  });

  it("a deploy that takes a plan away leaves its jobs their config, and one that adds plans gives them the first", async () => {
    const { enqueue, enqueueAll, deploy, until, order } = open({ llm: { ...shared, ...plans.free } });
    await enqueueAll(["a1", "a2"]);
    deploy(planned);
    await enqueue("a3", { plan: "pro" });
    deploy({ llm: { ...shared, plans: { free: plans.free } } });
    await until(10 * MINUTE);
    expect(order()).toEqual(["a1", "a2", "a3"]);
  });

  it.each([
    [{}, 'plan must be "free" or "pro", got undefined'],
    [{ plan: "gold" }, 'plan must be "free" or "pro", got "gold"'],
    [{ plan: "pro", count: 1e9 }, "can never be served"],
  ])("%o is misuse, and no job is stored", async (args, message) => {
    const { t, enqueue } = open();
    await expect(enqueue("never", args)).rejects.toThrow(message);
    expect(await documentsIn(place, t, "rateLimitQueue")).toEqual([]);
  });
});

it("in the tables, jobs from before a limit had plans wait by the first as soon as their worker looks", async () => {
  const { enqueueAll, deploy, pass, until, log } = useQueues(
    "tables",
    { llm: { ...shared, ...plans.free } },
    { key: "a" },
  );
  await enqueueAll(["a1", "a2", "a3"]);
  await pass(1000);
  deploy({ llm: { ...shared, plans: { pro: plans.pro, free: plans.free } } });
  await until(10 * MINUTE);
  expect(log()).toEqual(["a1 20", "a2 58960", "a3 58960"]);
});

it.each(placeNames)(
  "in the %s, a deploy that takes all plans away leaves none in the rows that the worker writes",
  async (place) => {
    const { enqueue, enqueueAll, deploy, pass, until, order, snapshot } = useQueues(place, planned, { key: "a" });
    await enqueueAll(["a1", "a2"], { plan: "free" });
    await pass(1000);
    deploy({ llm: { ...shared, ...plans.free } });
    if (place === "component") await enqueue("a3");
    await until(10 * MINUTE);
    expect(order()).toEqual(place === "component" ? ["a1", "a2", "a3"] : ["a1", "a2"]);
    expect(await snapshot({ key: "a" })).not.toHaveProperty("plan");
  },
);
