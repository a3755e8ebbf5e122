/** Plays a scenario on a stage, and compares every reply with the exact buckets. Throws at the first that is wrong. */
import { expect, vi } from "vitest";
import { mayBeFast, T0, type Wait } from "../laws/arbitraries.js";
import { randomFrom } from "../support/random.js";
import { type Call, type Job, make, type Place, type Reply, type Request, type Status, type Take } from "./calls.js";
import { leftAt } from "./exact/bucket.js";
import { type ExactLimit, LAST_MOMENT, lengthOf, sizeOf } from "./exact/config.js";
import { type Exact, idOf, isBeyondList, KEYS, PLACES, type Setting, shownReset, UNTOUCHED } from "./oracle.js";
import { exactly, isLess, minus, plus, rational, toNumber, ZERO } from "./rational.js";
import { countOf, type Intent, type Part, planAt, type Scenario } from "./scenario.js";
import { type Answered, someOrder } from "./serial.js";
import type { Limits, MutationCtx, Stage } from "../support/stage.js";
import { present } from "../../src/wire/present.js";

/** Longer than most debts of a scenario take to be paid. */
const QUIET_MS = 1e13;

const NO_REPLY: Reply = { is: "error", message: "no reply" };

/** Returns the number of operations played. */
export async function play(stage: Stage, scenario: Scenario): Promise<number> {
  const { plans, other, shards, seed, steps, isOverridden } = scenario;
  vi.spyOn(Math, "random").mockImplementation(randomFrom(seed));
  const finished = new Set<string>();
  const jobs: Job[] = [];
  const takes: Take[] = [];
  const isWhole = shards.every((number) => number === undefined || number === 1);
  let states: Exact[] = [UNTOUCHED];
  let now = T0;
  let retryAt = now;
  let fillUp = () => Promise.resolve();
  const first = planAt(plans, 0);
  let inForce = first;
  let played = 0;
  for (const [at, step] of steps.entries()) {
    const limit = planAt(plans, step.plan);
    now = moved(step.wait, limit, now, retryAt);
    vi.setSystemTime(now);
    const due = jobs[step.runs];
    if (due && due.handle.runAt <= now && (await stage.finishJob(due.handle.id))) finished.add(due.handle.id);
    const plan = { limit, other };
    const calls = step.calls.flatMap((intent) => callsOf(intent, { plan, jobs, takes, now })).slice(0, 5);
    const shardsOf = (i: number) => shards[(step.shards + i) % shards.length];
    const limits = (i: number) => stage.limits(limit, shardsOf(i), other);
    // With overrides, calls use the first plan. The fuzzer reads the same rows by the limit in force.
    const asked = (i: number) => (isOverridden ? stage.limits(overridable(first), shardsOf(i), other) : limits(i));
    const overrides = isOverridden && limit !== first;
    if (isOverridden && limit !== inForce) await override(stage, asked(0), overrides ? limit : undefined);
    inForce = limit;
    const limitOf = await phases(stage, limits(0), plan);
    const setting: Setting = { limitOf, now, isWhole, finished, isOverridden: overrides };
    const before = await foresee(stage, asked(0), calls, now);
    const held = isWhole ? undefined : await heldBy(stage, limits(0), setting);
    const replies = await attempt(stage, step.isUndone, (ctx) =>
      Promise.all(calls.map((call, i) => make(asked(i), ctx, call, now))),
    );
    const answered = calls.map((call, i) => ({ call, reply: replies[i] ?? NO_REPLY }));
    const next = someOrder(states, answered, setting);
    const problem = { at, plan: limit, other, shards, now, answered, exact: states };
    if (next.length === 0) expect.fail(`no serial order of the exact buckets gives these replies: ${textOf(problem)}`);
    if (!step.isUndone) states = next;
    if (held) {
      const then = await heldBy(stage, limits(0), setting);
      states = states.filter((exact) => isWithin(then, exact, setting));
      if (states.length === 0)
        expect.fail(`the rows hold more than the exact buckets: ${textOf({ ...problem, then })}`);
      const effects = step.isUndone ? [] : answered;
      const wrong = unbalanced(held, then, effects, setting, states);
      if (wrong) expect.fail(`tokens were made or lost: ${wrong} ${textOf(problem)}`);
      if (at % 4 === 0) await isShownAsOfLastWrite(stage, limits(0), now);
    }
    agree(before, answered, setting);
    if (!step.isUndone) await waitsSuffice(stage, asked(0), answered, setting);
    for (const { call, reply } of answered) {
      retryAt = timeIn(reply) ?? retryAt;
      if (step.isUndone) continue;
      if (reply.is === "scheduled" && call.act === "schedule") jobs.push({ ...call, handle: reply.job });
      const take = takeIn(call, reply);
      if (take) takes.push(take);
    }
    played += calls.length;
    fillUp = async () => {
      const then = now + Math.max(QUIET_MS, ...states.map((exact) => debtMs(exact, limitOf, now)));
      if (then < LAST_MOMENT) await fillsUp(stage, limits(0), limit, then);
    };
    // With thousands of states that all explain the replies, each further step would multiply them, up to gigabytes.
    if (states.length > 4000) break;
  }
  await fillUp();
  return played;
}

/** Runs a mutation. If it throws at its end, it changes nothing. */
export async function attempt<T>(stage: Stage, isUndone: boolean, body: (ctx: MutationCtx) => Promise<T>): Promise<T> {
  let result: { value: T } | undefined;
  const mutation = stage.mutation(async (ctx) => {
    result = { value: await body(ctx) };
    if (isUndone) throw new Error("undone");
    return result.value;
  });
  if (!isUndone) return await mutation;
  await expect(mutation).rejects.toThrow("undone");
  if (!result) throw new Error("the mutation did not run");
  return result.value;
}

export function overridable(limit: ExactLimit): ExactLimit {
  return { ...limit, ...{ overrides: true } };
}

/** Sets what overrides the limit at every key, or clears it. */
async function override(stage: Stage, limits: Limits, config: ExactLimit | undefined): Promise<void> {
  await stage.mutation(async (ctx) => {
    for (const key of KEYS) {
      const bucket = present({ name: "limit", key });
      if (config) await limits.overrideRateLimit(ctx, { ...bucket, config: present(config) });
      else await limits.clearRateLimitOverride(ctx, bucket);
    }
  });
}

const starts = new Map<string, number>();

/** The limits as they apply to a bucket. If the config gives no start, they have the start that the limit chooses. */
async function phases(stage: Stage, limits: Limits, plan: Plan): Promise<(place: Place) => ExactLimit> {
  const chosen = new Map<string, ExactLimit>();
  for (const place of PLACES) {
    const limit = plan[place.name];
    const { period } = limit;
    if (limit.kind !== "fixed window" || typeof period !== "number" || limit.start !== undefined) continue;
    const id = JSON.stringify([place, period]);
    const get = () => stage.mutation((ctx) => limits.getRateLimit(ctx, present(place)));
    const start = starts.get(id) ?? ((await get()).config as { start?: number }).start ?? NaN;
    if (!(start >= 0 && start < period)) throw new Error(`windows start at ${start}`);
    starts.set(id, start);
    chosen.set(idOf(place), { ...limit, start });
  }
  return (place) => chosen.get(idOf(place)) ?? plan[place.name];
}

/** The tokens of every bucket, as lists show them. */
async function heldBy(stage: Stage, limits: Limits, { limitOf }: Setting): Promise<Map<string, number>> {
  const held = new Map(PLACES.map((place) => [idOf(place), sizeOf(limitOf(place))]));
  await stage.mutation(async (ctx) => {
    for (const name of ["limit", "other"] as const) {
      const { page } = await limits.listRateLimits(ctx, { name });
      for (const { key, value } of page) held.set(idOf({ name, key }), value);
    }
  });
  return held;
}

/** The most that the rounding of a quotient and a difference changes in numbers up to this one. */
function rounding(number: number): number {
  return Math.max(1, Math.abs(number)) * 2 ** -50;
}

function isWithin(held: ReadonlyMap<string, number>, { buckets }: Exact, { limitOf, now }: Setting): boolean {
  return PLACES.every((place) => {
    const value = held.get(idOf(place)) ?? NaN;
    const left = leftAt(limitOf(place), buckets.get(idOf(place)), now);
    return !isLess(plus(left, exactly(rounding(value))), exactly(value));
  });
}

/** The rows hold less by the tokens that calls took, and nothing else changes. Returns the bucket for which this is false. */
function unbalanced(
  before: ReadonlyMap<string, number>,
  then: ReadonlyMap<string, number>,
  answered: readonly Answered[],
  { limitOf }: Setting,
  states: readonly Exact[],
): string | undefined {
  for (const place of PLACES) {
    const effects = answered.flatMap(({ call, reply }) => effectsOf(call, reply, place));
    const [had, has] = [before.get(idOf(place)) ?? NaN, then.get(idOf(place)) ?? NaN];
    const size = sizeOf(limitOf(place));
    if (effects.includes("reset")) {
      if (effects.length === 1 && has !== size) return idOf(place);
      continue;
    }
    // A pause takes more or less, by the time when it ends.
    if (effects.includes("pause")) continue;
    const moves = effects.filter((effect) => typeof effect === "number");
    const taken = moves.reduce((sum, move) => sum + Math.min(0, move), 0);
    const given = moves.reduce((sum, move) => sum + Math.max(0, move), 0);
    const near = rounding(Math.max(Math.abs(had), Math.abs(has), given - taken));
    const isGift = answered.every(({ call }) => call.act !== "cancel" && !("takenAt" in call));
    const isAlone = isGift && moves.length === 1 && limitOf(place).kind !== "sliding window";
    // Under a limit that was lowered a gift first pays for what was used beyond it.
    const isBeyond = states.some((exact) => usedIn(exact, place) + given > size - had + near);
    const isExact = given === 0 || (isAlone && !isBeyond);
    const most = Math.min(size, had + given) + taken;
    const least = isExact ? most : had + taken;
    if (!(has >= least - near && has <= Math.max(most, had + given + taken) + near && has <= size + near)) {
      return `${idOf(place)} had ${had}, has ${has}, not ${least} to ${most}`;
    }
  }
  return undefined;
}

/** The tokens that count as used in a bucket's window; 0 if it has none. */
function usedIn({ buckets }: Exact, place: Place): number {
  const state = buckets.get(idOf(place));
  if (!state || !("window" in state) || !state.window) return 0;
  return toNumber(plus(state.window.used, state.window.excess ?? ZERO));
}

function effectsOf(call: Call, reply: Reply, place: Place): (number | "reset" | "pause")[] {
  if (call.act === "all") {
    if (reply.is !== "statuses" || !reply.all.ok) return [];
    const { statuses } = reply.all;
    const taking = call.requests.filter((request, i) => idOf(request) === idOf(place) && statuses[i]?.ok);
    return taking.map(({ count }) => -count);
  }
  if (call.act === "cancel") {
    return idOf(call.job) === idOf(place) && reply.is === "canceled" && reply.canceled ? [call.job.count] : [];
  }
  if (!("key" in call) || idOf(call) !== idOf(place)) return [];
  if (call.act === "reset" || call.act === "pause") return [call.act];
  if (call.act === "take") return reply.is === "status" && reply.status.ok ? [-(reply.status.taken ?? call.count)] : [];
  if (call.act === "schedule") return reply.is === "scheduled" ? [-call.count] : [];
  return call.act === "adjust" ? [-call.count] : [];
}

/** A snapshot of several rows has the time of the last write, and the tokens of all rows at that time. */
async function isShownAsOfLastWrite(stage: Stage, limits: Limits, now: number): Promise<void> {
  const { parts, value, ts } = await stage.mutation((ctx) => limits.getRateLimit(ctx, { name: "limit" }));
  if (parts.length === 1) return;
  for (const part of parts) expect(part.value, "a row of several, which owes nothing").toBeGreaterThanOrEqual(0);
  expect(ts, "the last write").toBe(Math.max(...parts.map((part) => part.ts)));
  vi.setSystemTime(ts);
  const { page } = await stage.mutation((ctx) => limits.listRateLimits(ctx, { name: "limit", limit: 1 }));
  vi.setSystemTime(now);
  expect(value, "the tokens of the rows at their last write").toBe(page[0]?.value);
}

/** How long the debts of the limit's buckets take to be paid, and a period more. */
function debtMs({ buckets }: Exact, limitOf: Setting["limitOf"], now: number): number {
  const needed = KEYS.map((key) => {
    const place = { name: "limit", key } as const;
    const limit = limitOf(place);
    const missing = toNumber(minus(rational(sizeOf(limit)), leftAt(limit, buckets.get(idOf(place)), now)));
    return (missing / limit.rate + 1) * lengthOf(limit);
  });
  // Months differ in length.
  return Math.ceil(1.1 * Math.max(...needed));
}

/** After a long quiet time every bucket is full: all of it can be taken at once, and then nothing more. */
async function fillsUp(stage: Stage, limits: Limits, limit: ExactLimit, now: number): Promise<void> {
  vi.setSystemTime(now);
  const size = sizeOf(limit);
  if (size === 0) return;
  await attempt(stage, true, async (ctx) => {
    for (const key of KEYS) {
      const take = { act: "take", name: "limit", key, count: size, reserve: false, throws: false } as const;
      const full = await make(limits, ctx, { ...take, act: "check", count: 0 }, now);
      expect(full, "after a quiet time").toMatchObject({ status: { ok: true, remaining: Math.floor(size) } });
      expect(await make(limits, ctx, take, now), "all of a full bucket").toMatchObject({ status: { ok: true } });
      const more = await make(limits, ctx, { ...take, count: Math.min(size, 0.001) }, now);
      expect(more, "more than all").toMatchObject({ status: { ok: false } });
    }
  });
}

/** A check and a snapshot before a single call. */
async function foresee(stage: Stage, limits: Limits, [only, ...others]: readonly Call[], now: number) {
  if (only?.act !== "take" || others.length > 0) return undefined;
  return await stage.mutation(async (ctx) => ({
    check: await make(limits, ctx, { ...only, act: "check" }, now),
    get: await make(limits, ctx, { ...only, act: "get", count: only.atLeast ?? only.count }, now),
  }));
}

type Foreseen = Awaited<ReturnType<typeof foresee>>;

/** A call that takes the tokens that are there reads all rows. */
function isFast(limit: ExactLimit, { count, atLeast }: Request): boolean {
  return atLeast === undefined && mayBeFast(limit, count);
}

/** A check, a snapshot and a call give the same answer. */
function agree(before: Foreseen, [first]: readonly Answered[], { limitOf, now, isWhole }: Setting): void {
  if (!before || first?.call.act !== "take") return;
  const { call, reply } = first;
  const { check, get } = before;
  if (check.is !== "status" || get.is !== "snapshot") throw new Error(`no status: ${JSON.stringify(before)}`);
  const limit = limitOf(call);
  // A projection knows reservations without a bound on the wait.
  const isProjected = call.atLeast === undefined && typeof call.reserve === "boolean";
  if (isProjected && !isBeyondList(get.status, limit, now)) {
    const { ok, retryAt, remaining } = get.status;
    const resetAt = shownReset(get.status, limit, check.status.resetAt);
    expect({ ok, retryAt, remaining, resetAt }).toEqual({ retryAt: undefined, ...check.status });
  }
  const status = reply.is === "status" ? reply.status : { ok: false, retryAt: timeIn(reply) };
  // A check reads all rows, so it knows every token that a call can find.
  if (status.ok) expect(check.status, "the check before a call that is allowed").toMatchObject({ ok: true });
  if (!isWhole && call.reserve === false && isFast(limit, call)) return;
  const promise = ({ ok, retryAt = now }: Status) => ({ ok, retryAt });
  if (reply.is === "status") expect(reply.status.taken, "what a call gets").toBe(check.status.taken);
  expect(promise(status), "a call").toEqual(promise(check.status));
}

/** At `retryAt` the same call succeeds, with any rows that it draws. If it has read all rows, it fails a millisecond earlier. */
async function waitsSuffice(stage: Stage, limits: Limits, answered: readonly Answered[], setting: Setting) {
  const { limitOf, now, isWhole } = setting;
  const [first, ...others] = answered;
  if (!first || others.length > 0 || first.call.act !== "take" || first.reply.is !== "status") return;
  const { call, reply } = first;
  const { ok, retryAt } = reply.status;
  if (ok || retryAt === undefined || retryAt > HORIZON * 10) return;
  vi.setSystemTime(retryAt);
  const then = await attempt(stage, true, (ctx) => make(limits, ctx, call, retryAt));
  const text = () => JSON.stringify({ limit: limitOf(call), call, now, reply, then });
  if (then.is !== "status" || !then.status.ok) expect.fail(`the same call at its retryAt: ${text()}`);
  if (!isWhole && retryAt - 1 > now && typeof call.reserve === "boolean" && !isFast(limitOf(call), call)) {
    vi.setSystemTime(retryAt - 1);
    const early = await stage.mutation((ctx) => make(limits, ctx, { ...call, act: "check" }, retryAt - 1));
    expect(early, "the same call a millisecond before its retryAt").toMatchObject({ status: { ok: false } });
  }
  vi.setSystemTime(now);
}

interface Plan {
  readonly limit: ExactLimit;
  readonly other: ExactLimit;
}

/** A take that may be undone later. */
function takeIn(call: Call, reply: Reply): Take | undefined {
  if (call.act !== "take" || reply.is !== "status" || !reply.status.ok) return undefined;
  const { taken: count = call.count, takenAt } = reply.status;
  return takenAt === undefined || count === 0 ? undefined : { name: call.name, key: call.key, count, takenAt };
}

interface Known {
  readonly plan: Plan;
  readonly jobs: readonly Job[];
  /** Each is undone once. */
  readonly takes: Take[];
  readonly now: number;
}

function callsOf(intent: Intent, { plan, jobs, takes, now }: Known): Call[] {
  switch (intent.act) {
    case "take":
    case "check":
    case "get": {
      const { place, asked, ...own } = intent;
      const { portion, part, reserve, mode } = asked;
      const limit = plan[place.name];
      const count = countOf(limit, portion, reserve === true);
      const request = { ...own, ...place, count, reserve, mode };
      if (intent.act === "get") return [{ ...request, reserve: reserve !== false }];
      return [reserve === false ? { ...request, ...partIn(limit, count, part) } : request];
    }
    case "all":
    case "checkAll": {
      const requests = intent.of.map(({ place, asked }) => {
        // One bucket cannot be asked both to consume and to reserve in the same call.
        const { reserve, mode } = intent.of.find((each) => idOf(each.place) === idOf(place))?.asked ?? asked;
        const count = countOf(plan[place.name], asked.portion, reserve === true, intent.of.length);
        return { ...place, count, reserve, mode };
      });
      return [{ act: intent.act, requests }];
    }
    case "charge":
    case "refund": {
      const count = countOf(plan[intent.place.name], intent.portion, false);
      return count === 0 ? [] : [{ act: "adjust", ...intent.place, count: intent.act === "charge" ? count : -count }];
    }
    case "undo": {
      const [take] = takes.splice(-1 - intent.which, 1);
      return take ? [{ act: "adjust", ...take, count: -Math.ceil(take.count * intent.share * 1000) / 1000 }] : [];
    }
    case "schedule": {
      const { act, place, portion, spread } = intent;
      return [{ act, ...place, count: countOf(plan[place.name], portion, true), spread }];
    }
    case "cancel": {
      const job = jobs.at(-1 - intent.which);
      const cancel = job ? [{ act: intent.act, job }] : [];
      return intent.twice ? [...cancel, ...cancel] : cancel;
    }
    case "pause":
      return [{ act: "pause", ...intent.place, until: now + intent.ms }];
    case "reset":
    case "misuse":
      return [{ act: intent.act, ...intent.place }];
    case "list":
    case "sweep":
      return [intent];
  }
}

/** A call that takes the tokens that are there may ask for more than a full bucket has. */
function partIn(limit: ExactLimit, count: number, part: Part | undefined): { count?: number; atLeast?: number } {
  if (!part) return {};
  const atLeast = Math.floor(count * part.share * 1000) / 1000;
  return { atLeast, count: part.isBeyond ? count + Math.ceil(sizeOf(limit)) : count };
}

/** Debts of thousands of days would leave the dates that the calendar is tried on. */
const HORIZON = Date.UTC(2126, 0, 1);

function moved(wait: Wait, limit: ExactLimit, now: number, retryAt: number): number {
  if ("ms" in wait) return now + wait.ms;
  if ("periods" in wait) return now + Math.ceil(wait.periods * lengthOf(limit));
  return retryAt > HORIZON ? now : Math.max(now, retryAt + wait.toRetry);
}

function timeIn(reply: Reply): number | undefined {
  if (reply.is === "status" || reply.is === "snapshot") return reply.status.retryAt;
  if (reply.is === "statuses") return reply.all.retryAt;
  if (reply.is === "scheduled") return reply.runAt;
  return "retryAt" in reply ? reply.retryAt : undefined;
}

/** For messages. */
function textOf(problem: object): string {
  return JSON.stringify(problem, (_name, value: unknown) => {
    if (typeof value === "bigint") return Number(value);
    if (value instanceof Map) return Object.fromEntries(value) as object;
    return value instanceof Set ? [...(value as Set<unknown>)] : value;
  });
}
