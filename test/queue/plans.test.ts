/** Limits with plans and a queue: the jobs of a bucket wait by the plan of the newest of them. */
import { describe, expect, it } from "vitest";
import { HOUR, MINUTE, type RateLimitDefinitions, SECOND } from "convex-rate-limits";
import { NOW, useClock } from "../support/clock.js";
import { changeIn, documentsIn, placeNames } from "../support/places.js";
import { firstOf } from "../support/random.js";
import { useQueues } from "../support/queues.js";

useClock();

const shared = { kind: "token bucket", period: MINUTE, keyed: true, queue: {} } as const;
const plans = { free: { rate: 1, capacity: 1 }, pro: { rate: 60, capacity: 10 } } as const;
const planned: RateLimitDefinitions = { llm: { ...shared, plans } };

describe.each(firstOf(1, placeNames))("in the %s", (place) => {
  const open = (limits = planned) => useQueues(place, limits, { key: "a" });

  it.each<[string, RateLimitDefinitions]>([
    ["one plan", { llm: { ...shared, plans: { free: plans.free } } }],
    ["all plans", { llm: { ...shared, ...plans.free } }],
  ])("a deploy that removes %s leaves jobs their place, and what the plan was", async (_what, next) => {
    const { enqueueAll, jobOf, position, cancel, deploy, pass, until, log } = open();
    const pro = { plan: "pro", count: 10 };
    await enqueueAll(["a1", "a2"], pro);
    const [third, fourth] = [await jobOf("a3", pro), await jobOf("a4", pro)];
    await pass(100);
    deploy(next);
    expect(await position(third)).toMatchObject({ ahead: 1 });
    expect(await cancel(fourth)).toBe(true);
    await until(HOUR);
    expect(log()).toHaveLength(3);
  });

  it("each key's jobs wait by its plan, and its rows hold the plan", async () => {
    const { enqueueAll, jobOf, position, until, log, snapshot } = open();
    await enqueueAll(["a1", "a2"], { plan: "free" });
    const pro = { key: "b", plan: "pro", count: 10 };
    await enqueueAll(["b1"], pro);
    expect(await position(await jobOf("b2", pro))).toEqual({ ahead: 1, startsAt: NOW + 10 * SECOND });
    await until(5 * MINUTE);
    expect(log().sort()).toEqual(["a1 0", `a2 ${MINUTE}`, "b1 0", `b2 ${10 * SECOND}`]);
    expect(await snapshot({ key: "a" })).toMatchObject({ plan: "free", config: { rate: 1 } });
  });

  it.each([
    ["an upgrade moves waiting jobs forward", "free", "pro", 1, [20, 1010, 2010, 3010]],
    ["a downgrade delays waiting jobs", "pro", "free", 10, [20, 10_010, 671_960, 1_271_960]],
  ])("%s", async (_what, before, after, count, expected) => {
    const { pass, enqueueAll, jobOf, position, until, log } = open();
    await enqueueAll(["a1", "a2", "a3"], { plan: before, count });
    // Time passes in steps of 10 ms; the worker runs in the first. Before a downgrade, the second job gets its start time 1.05 s ahead and
    // keeps it. The 1.05 tokens that it owes take 63 s more under the new plan.
    await pass(before === "pro" ? 9.5 * SECOND : 500);
    const last = await jobOf("a4", { plan: after, count });
    await pass(100);
    await until(HOUR);
    expect(log()).toEqual(expected.map((at, i) => `a${i + 1} ${at}`));
    expect(await position(last)).toBeNull();
  });

  it.each([
    ["free", "pro"],
    ["pro", "free"],
  ])("a full queue whose worker sleeps under plan %s lets plan %s in, up to twice its bound", async (before, after) => {
    const slow = { free: { rate: 0.01, capacity: 1 }, pro: { rate: 0.02, capacity: 1 } };
    const { enqueue, pass } = open({ llm: { ...shared, plans: slow, queue: { maxQueued: 3 } } });
    const accepts = async (...plans: string[]) => {
      const accepted = [];
      for (const plan of plans) {
        if ((await enqueue("a1", { plan })).ok) accepted.push(plan);
        await pass(500);
      }
      return accepted;
    };
    // One has its tokens at once.
    expect(await accepts(before, before, before, before, before)).toHaveLength(4);
    expect(await accepts(after, after, before, after, before, after)).toEqual([after, before, after]);
  });

  it.each([false, true])("a job is settled by its key's plan (its worker's row is gone: %s)", async (isGone) => {
    const { t, enqueue, pass, until, order, snapshot } = open();
    await enqueue("a1", { plan: "pro", count: 10, settles: "mutation" }, { used: 4 });
    await pass(10);
    expect(await documentsIn(place, t, "rateLimitWorkers")).toMatchObject([{ plan: "pro" }]);
    if (isGone) await changeIn(place, t, "rateLimitWorkers", null);
    await until(MINUTE);
    expect(order()).toEqual(["a1"]);
    expect(await snapshot({ key: "a" })).toMatchObject({ plan: "pro", value: 6, config: { rate: 60 } });
  });

  it("a job that ends after a downgrade is settled by its bucket's new plan", async () => {
    const { enqueue, enqueueAll, pass, until, log } = open();
    const pro = { plan: "pro", count: 10 };
    await enqueueAll(["a1"], pro);
    await enqueue("a2", { ...pro, settles: "mutation" }, { used: 9 });
    // The second is paid a second before it starts.
    await pass(9.5 * SECOND);
    await enqueueAll(["a3"], { plan: "free" });
    await until(5 * MINUTE);
    // The refunded token pays the debt of that second, which would take a minute at the new rate.
    expect(log().map((start) => start.slice(0, 5))).toEqual(["a1 20", "a2 10", "a3 71"]);
  });

  it("jobs run after a deploy that adds plans, and after one that removes the plan of a waiting job", async () => {
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
  ])("%o is misuse, and no job is stored", async (args, message) => {
    const { t, enqueue } = open();
    await expect(enqueue("never", args)).rejects.toThrow(message);
    expect(await documentsIn(place, t, "rateLimitQueue")).toEqual([]);
  });
});

it("in the tables, jobs from before a limit had plans wait by the first plan as soon as their worker runs", async () => {
  const unplanned = { llm: { ...shared, ...plans.free } };
  const { enqueueAll, deploy, pass, until, log } = useQueues("tables", unplanned, { key: "a" });
  await enqueueAll(["a1", "a2", "a3"]);
  await pass(1000);
  deploy({ llm: { ...shared, plans: { pro: plans.pro, free: plans.free } } });
  await until(10 * MINUTE);
  expect(log()).toEqual(["a1 20", "a2 58960", "a3 58960"]);
});

it.each(placeNames)(
  "in the %s, after a deploy that removes all plans, the worker writes rows without a plan",
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
