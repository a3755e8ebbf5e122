/** Plays a scenario on a stage, and holds every reply against the exact buckets; throws at the first that is wrong. */
import { expect, vi } from "vitest";
import { type Call, type Job, make, type Reply } from "./calls.js";
import { type ExactLimit, sizeOf } from "./exact/config.js";
import { type Exact, type Setting, UNTOUCHED } from "./oracle.js";
import { countOf, type Intent, type Scenario, type Wait } from "./scenario.js";
import { type Answered, someOrder } from "./serial.js";
import type { Limits, Stage } from "./stage.js";

export const T0 = Date.UTC(2026, 0, 1);
/** Longer than any debt of a scenario takes to be paid. */
const QUIET_MS = 1e13;

class Undone extends Error {}

/** Returns the number of operations played. */
export async function play(stage: Stage, { plans, shards, inOrder, random, steps }: Scenario): Promise<number> {
  vi.spyOn(Math, "random").mockImplementation(randomFrom(random));
  const finished = new Set<string>();
  const jobs: Job[] = [];
  const isWhole = shards.every((number) => number === undefined || number === 1);
  let states: Exact[] = [UNTOUCHED];
  let now = T0;
  let retryAt = now;
  let plan = 0;
  let played = 0;
  for (const [at, step] of steps.entries()) {
    plan = inOrder
      ? Math.min(plans.length - 1, Math.max(plan, at % 10 === 9 ? step.plan : 0))
      : step.plan % plans.length;
    const limit = plans[plan];
    if (!limit) throw new Error("no plan");
    now = moved(step.wait, limit, now, retryAt);
    vi.setSystemTime(now);
    const due = jobs[step.runs];
    if (due && due.handle.runAt <= now && stage.finishJob(due.handle.id)) finished.add(due.handle.id);
    const calls = step.calls.flatMap((intent) => callsOf(intent, limit, jobs)).slice(0, 5);
    const setting: Setting = { limit, now, isWhole, finished };
    const limits = (i: number) => stage.limits(limit, shards[(step.shards + i) % shards.length]);
    const before = await foresee(stage, limits(0), calls, now);
    const replies = await stage.mutation((ctx) => Promise.all(calls.map((call, i) => make(limits(i), ctx, call, now))));
    const answered = calls.map((call, i) => ({ call, reply: replies[i] ?? lost(call) }));
    const next = someOrder(states, answered, setting);
    if (next.length === 0) {
      const problem = { at, plan: limit, shards, now, answered: answered.map(plain), exact: states.map(plain) };
      expect.fail(`no serial order of the exact buckets gives these replies: ${JSON.stringify(problem, bigints)}`);
    }
    states = next;
    agree(before, answered, now);
    await waitsSuffice(stage, limits(0), answered, now);
    for (const { call, reply } of answered) {
      if (reply.is === "scheduled" && call.act === "schedule") {
        jobs.push({ handle: reply.job, key: call.key, count: call.count });
      }
      retryAt = momentIn(reply) ?? retryAt;
    }
    played += calls.length;
  }
  const last = plans[plan];
  if (!last) throw new Error("no plan");
  await fillsUp(stage, stage.limits(last, shards.at(-1)), last, now + QUIET_MS);
  return played;
}

function lost({ act }: Call): Reply {
  return { is: "error", message: `no reply to ${act}` };
}

/** After a long quiet time every bucket is full: all of it can be taken at once, and then nothing more. */
async function fillsUp(stage: Stage, limits: Limits, limit: ExactLimit, now: number): Promise<void> {
  vi.setSystemTime(now);
  const size = sizeOf(limit);
  const undone = stage.mutation(async (ctx) => {
    for (const key of [undefined, "alice", "bob"]) {
      const take = { act: "take", key, count: size, reserve: false, throws: false } as const;
      const full = { status: { ok: true, remaining: Math.floor(size) } };
      expect(await make(limits, ctx, { ...take, act: "check", count: 0 }, now), "after a quiet time").toMatchObject(
        full,
      );
      expect(await make(limits, ctx, take, now), "all of a full bucket").toMatchObject({ status: { ok: true } });
      const more = await make(limits, ctx, { ...take, count: 0.001 }, now);
      expect(more, "more than all").toMatchObject({ status: { ok: false } });
    }
    throw new Undone("undone");
  });
  await expect(undone).rejects.toThrow("undone");
}

/** What a check and a snapshot say before a single call. */
async function foresee(stage: Stage, limits: Limits, [only, ...others]: readonly Call[], now: number) {
  if (only?.act !== "take" || others.length > 0) return undefined;
  return await stage.mutation(async (ctx) => ({
    check: await make(limits, ctx, { ...only, act: "check" }, now),
    get: await make(limits, ctx, { ...only, act: "get" }, now),
  }));
}

function agree(before: { check: Reply; get: Reply } | undefined, answered: readonly Answered[], now: number): void {
  const [first] = answered;
  if (!before || !first) return;
  const { call, reply } = first;
  const { check, get } = before;
  if (check.is !== "status" || get.is !== "snapshot") throw new Error(`no status: ${JSON.stringify(before)}`);
  expect(get.status).toEqual(check.status);
  if (reply.is !== "status" || call.act !== "take") return;
  // A check reads everything: it knows of every token that a call can find.
  if (reply.status.ok) expect(check.status, "the check before a call that is allowed").toMatchObject({ ok: true });
  if (call.reserve) {
    const promise = ({ ok, retryAt = now }: typeof check.status) => ({ ok, retryAt: ok ? retryAt : undefined });
    expect(promise(check.status), "the check before a reservation").toEqual(promise(reply.status));
  }
}

/** At `retryAt` the same call succeeds, whatever the rows that it draws. */
async function waitsSuffice(
  stage: Stage,
  limits: Limits,
  [first, ...others]: readonly Answered[],
  now: number,
): Promise<void> {
  if (!first || others.length > 0 || first.call.act !== "take" || first.reply.is !== "status") return;
  const { call, reply } = first;
  const { ok, retryAt } = reply.status;
  if (ok || retryAt === undefined) return;
  vi.setSystemTime(retryAt);
  const again = stage.mutation(async (ctx) => {
    expect(await make(limits, ctx, call, retryAt), "the same call at its retryAt").toMatchObject({
      status: { ok: true },
    });
    throw new Undone("undone");
  });
  await expect(again).rejects.toThrow("undone");
  vi.setSystemTime(now);
}

function callsOf(intent: Intent, limit: ExactLimit, jobs: readonly Job[]): Call[] {
  switch (intent.act) {
    case "take": {
      const { key, portion, reserve } = intent.of;
      return [{ act: "take", key, count: countOf(limit, portion, reserve), reserve, throws: intent.throws }];
    }
    case "check":
    case "get": {
      const { key, portion, reserve } = intent.of;
      return [{ act: intent.act, key, count: countOf(limit, portion, reserve), reserve }];
    }
    case "all": {
      // One bucket cannot be asked both to consume and to reserve in the same call.
      const reserve = intent.of[0]?.reserve ?? false;
      const requests = intent.of.map((each) => {
        const count = countOf(limit, each.portion, reserve, intent.of.length);
        return { key: each.key, count, reserve };
      });
      return [{ act: "all", requests }];
    }
    case "charge":
    case "refund": {
      const count = countOf(limit, intent.portion, false);
      if (count === 0) return [];
      return [{ act: "adjust", key: intent.key, count: intent.act === "charge" ? count : -count }];
    }
    case "schedule": {
      const count = countOf(limit, intent.portion, true);
      return [{ act: "schedule", key: intent.key, count }];
    }
    case "cancel": {
      const job = jobs.at(-1 - intent.which);
      if (!job) return [];
      const cancel = { act: "cancel" as const, job };
      return intent.twice ? [cancel, cancel] : [cancel];
    }
    case "reset":
    case "misuse":
      return [{ act: intent.act, key: intent.key }];
    case "sweep":
      return [{ act: "sweep" }];
  }
}

function moved(wait: Wait, { period }: ExactLimit, now: number, retryAt: number): number {
  if ("ms" in wait) return now + wait.ms;
  if ("periods" in wait) return now + Math.ceil(wait.periods * period);
  return Math.max(now, retryAt + wait.toRetry);
}

function momentIn(reply: Reply): number | undefined {
  switch (reply.is) {
    case "status":
    case "snapshot":
      return reply.status.retryAt;
    case "thrown denial":
    case "refused":
      return reply.retryAt;
    case "scheduled":
      return reply.runAt;
    case "statuses":
      return reply.all.retryAt;
    case "canceled":
    case "done":
    case "error":
      return undefined;
  }
}

/** Mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function plain(part: object): object {
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name,
      value instanceof Map ? Object.fromEntries(value) : value instanceof Set ? [...value] : (value as unknown),
    ]),
  );
}

function bigints(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
