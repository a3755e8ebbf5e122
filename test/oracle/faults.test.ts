/** Faults of version 3 as moves, each judged by the twin. A random player meets most of them, but not at once. */
import { afterEach, beforeEach, it, vi } from "vitest";
import type { Definition } from "./adapter.js";
import { DAY, T0 } from "./terms.js";
import { type Move, type Ticket, World } from "./world.js";

const MINUTE = 60_000;
const clock = { now: T0 };
const key = "k";

beforeEach(() => {
  vi.spyOn(Date, "now").mockImplementation(() => clock.now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const sliding: Definition = { kind: "sliding window", rate: 10, period: DAY };
const bucket: Definition = { kind: "token bucket", rate: 5, period: MINUTE };
const fixed: Definition = { kind: "fixed window", rate: 5, period: MINUTE, start: T0 };
const quota = { kind: "fixed window", period: "month" } as const;
const plans = (all: Readonly<Record<string, object>>) => ({ plans: all }) as unknown as Definition;

const take = (count: number, plan?: string): Move => ({ act: "take", key, plan, count, refundable: true });
const wait = (ms: number): Move => ({ act: "wait", ms });
const schedule = (count: number): Move => ({ act: "schedule", key, count });
const ticketsOf = (world: World) => world.tickets as [Ticket, ...Ticket[]];

async function play(definition: Definition, moves: readonly Move[]): Promise<World> {
  const world = new World(definition, clock);
  for (const move of moves) await world.make(move);
  return world;
}

it("an override of another period does not make a day's quota full again", async () => {
  const override = { config: { ...sliding, rate: 5, period: MINUTE }, until: T0 + 6 * MINUTE };
  const slowed: Move = { act: "override", key, override };
  await play(sliding, [take(10), wait(5 * MINUTE), slowed, take(1), wait(2 * MINUTE), take(1)]);
});

it("plans of two periods do not forget what the other took", async () => {
  const minutely = { ...sliding, rate: 5, period: MINUTE };
  const rounds = Array.from({ length: 5 }, () => [take(10, "daily"), wait(MINUTE + 1), take(1, "minutely")]).flat();
  await play(plans({ daily: sliding, minutely }), rounds);
});

it.each([bucket, fixed, { ...sliding, rate: 5 }])(
  "jobs from before a reset give nothing back: $kind",
  async (definition) => {
    const pause: Move = { act: "pause", key, until: T0 + 60 * MINUTE };
    for (const before of [[], [pause]]) {
      const jobs = Array.from({ length: 4 }, () => schedule(5));
      const world = await play(definition, [...before, ...jobs, { act: "reset", key }, wait(1000), take(5)]);
      for (const ticket of world.tickets.filter(({ job }) => job)) {
        await world.make({ act: "cancel", ticket });
        await world.make(take(1));
      }
    }
  },
);

it("a take, a reset and a take in one millisecond: the first does not come back", async () => {
  const world = await play(bucket, [take(5)]);
  const [ticket] = ticketsOf(world);
  for (const move of [{ act: "reset", key }, take(5)] as const) await world.make(move);
  await world.make({ act: "refund", key, count: 5, takenAt: ticket.date, ticket });
  await world.make({ act: "check", key, count: 1 });
});

it.each([1, DAY])("nothing comes back of a date that lies %d ms ahead", async (ms) => {
  await play(bucket, [take(5), { act: "refund", key, count: 5, takenAt: T0 + ms }, take(1)]);
});

it("nothing comes back of a date after the last write", async () => {
  await play(bucket, [take(5), wait(1000), { act: "refund", key, count: 5, takenAt: T0 + 500 }, take(1)]);
});

it("in one millisecond a gift and a refund give a sliding window no more than it lost", async () => {
  const world = await play(sliding, [take(3)]);
  const [ticket] = ticketsOf(world);
  for (const move of [{ act: "adjust", key, count: -3 }, take(1)] as const) await world.make(move);
  await world.make({ act: "refund", key, count: 3, takenAt: ticket.date, ticket });
  await world.make({ act: "check", key, count: 10 });
});

it("a top-up is added to the plan of an upgrade", async () => {
  const both = plans({ free: { ...quota, rate: 20 }, pro: { ...quota, rate: 1000 } });
  const override = { more: 5, until: T0 + 4 * DAY };
  await play(both, [take(20, "free"), { act: "override", key, override }, take(5, "free"), take(900, "pro")]);
});

it("usage after a downgrade is what was used", async () => {
  const both = plans({ free: { ...quota, rate: 100 }, pro: { ...quota, rate: 1000 } });
  await play(both, [take(150, "pro"), { act: "usage", key, plan: "free" }, { act: "usage", key, plan: "pro" }]);
});

it.each([bucket, { ...sliding, rate: 5 }])("a count that is too large is a denial: $kind", async (definition) => {
  await play({ ...definition, maxReserved: 5 }, [take(6), { act: "take", key, count: 11, reserve: true }, take(5)]);
});
