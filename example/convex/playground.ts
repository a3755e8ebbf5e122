/**
 * The backend of the playground page (example/src). Each page has a room of its own, or shares one with another page; a room is
 * the key of all its limits. It is a toy: anybody who knows a room's name may do anything in it.
 */
import {
  defineRateLimits,
  type ExposedKey,
  MINUTE,
  type RateLimitConfig,
  SECOND,
  vRateLimitStatus,
} from "convex-rate-limits";
import { ConvexError, v } from "convex/values";
import { components, internal } from "./_generated/api.js";
import type { DataModel, Doc } from "./_generated/dataModel.js";
import {
  internalAction,
  internalMutation,
  mutation,
  type MutationCtx,
  query,
  type QueryCtx,
} from "./_generated/server.js";
import { exposeRateLimit as exposeAppLimit, resetRateLimit as resetAppLimit } from "./rateLimits.js";
import { digest } from "./passwords.js";
import { configFields, jobFields, secondFields, vShards } from "./playgroundTables.js";

const DEFAULT_CONFIG: RateLimitConfig = {
  kind: "token bucket",
  rate: 2,
  period: SECOND,
  capacity: 10,
  maxReserved: 10,
};
const HOT_CONFIG: RateLimitConfig = { kind: "token bucket", rate: 20, period: SECOND, capacity: 400 };
const DEFAULT_SHARDS = 8;
/** What the chart shows, and a little more. */
const HISTORY_SECONDS = 75;
const SHOWN_JOBS = 12;
/** A model takes a while to answer. */
const ANSWER_MS = 1500;

const { rateLimit, resetRateLimit, getRateLimit, exposeRateLimit, scheduleRateLimited, cancelRateLimited } =
  defineRateLimits(
    {
      /** The limit that you change; its room's config comes with each call. */
      hands: { ...DEFAULT_CONFIG, keyed: true },
      /** One burst of five, then one every two seconds. */
      shared: { kind: "token bucket", rate: 30, period: MINUTE, capacity: 5, keyed: true },
      /** 200 tokens a second, and a queue of at most 20 seconds. */
      model: { kind: "token bucket", rate: 200, period: SECOND, capacity: 400, maxReserved: 4000, keyed: true },
      /** The room's number of shards comes with each call. */
      hot: { ...HOT_CONFIG, keyed: true },
    },
    { component: components.rateLimits },
  );

/** The server's word on keys: a room's name, and nothing longer than the pages make. */
const roomOf: ExposedKey<DataModel> = (_ctx, key) => checkedRoom(key);

function checkedRoom(room: string | undefined): string {
  if (room !== undefined && /^[\w-]{1,40}$/.test(room)) return room;
  throw new ConvexError({ kind: "BadRoom" });
}

export const { getRateLimit: hands, getServerTime } = exposeRateLimit("hands", {
  key: roomOf,
  config: (ctx: QueryCtx, room) => configOf(ctx, checkedRoom(room)),
});
export const { getRateLimit: shared } = exposeRateLimit("shared", { key: roomOf });
export const { getRateLimit: model } = exposeRateLimit("model", { key: roomOf });
export const { getRateLimit: hot } = exposeRateLimit("hot", {
  key: roomOf,
  config: (ctx: QueryCtx, room) => hotConfigOf(ctx, checkedRoom(room)),
});

// 1. The limit that you change.

/** Takes `count` tokens, or reserves them, and keeps a record for the chart, of denials too. */
export const send = mutation({
  args: { room: v.string(), count: v.number(), reserve: v.boolean() },
  returns: vRateLimitStatus,
  handler: async (ctx, { room, count, reserve }) => {
    const bucket = { name: "hands", key: checkedRoom(room), config: await configOf(ctx, room) } as const;
    const status = await saying(() => rateLimit(ctx, { ...bucket, count, reserve }));
    const outcome = !status.ok ? "denied" : status.retryAt === undefined ? "admitted" : "reserved";
    const { value, ts } = await getRateLimit(ctx, bucket);
    await record(ctx, room, outcome, { value, ts });
    return status;
  },
});

/**
 * Changes the limit while it is in use: what was taken stays taken. Only what is to change is given, so that two changes on
 * their way at the same time are both made. The chart begins anew.
 */
export const configure = mutation({
  args: { room: v.string(), ...v.object(configFields).partial().fields },
  returns: v.null(),
  handler: async (ctx, { room, ...changes }) => {
    const { kind, rate, period, capacity, maxReserved } = { ...(await configOf(ctx, checkedRoom(room))), ...changes };
    const config = { kind, rate, period, capacity, maxReserved } as RateLimitConfig;
    // Asking parses the config, so that a bad one is refused here.
    await saying(() => getRateLimit(ctx, { name: "hands", key: room, config }));
    await saveSettings(ctx, room, { config });
    await clearHistory(ctx, room);
    return null;
  },
});

export const refill = mutation({
  args: { room: v.string() },
  returns: v.null(),
  handler: async (ctx, { room }) => {
    await resetRateLimit(ctx, { name: "hands", key: checkedRoom(room) });
    await clearHistory(ctx, room);
    return null;
  },
});

/** The latest seconds in which something happened, oldest first. It does not depend on the clock: the page leaves out what is old. */
export const history = query({
  args: { room: v.string() },
  returns: v.array(v.object(secondFields)),
  handler: async (ctx, { room }) => {
    const latest = await secondsOf(ctx, room).order("desc").take(HISTORY_SECONDS);
    return latest
      .reverse()
      .map(({ second, admitted, reserved, denied, value, ts }) => ({ second, admitted, reserved, denied, value, ts }));
  },
});

async function record(
  ctx: MutationCtx,
  room: string,
  outcome: "admitted" | "reserved" | "denied",
  left: { value: number; ts: number },
): Promise<void> {
  const second = Math.floor(Date.now() / SECOND);
  const row = await secondsOf(ctx, room).order("desc").first();
  if (row?.second === second) {
    await ctx.db.patch("playgroundSeconds", row._id, { ...left, [outcome]: row[outcome] + 1 });
    return;
  }
  const nothing = { admitted: 0, reserved: 0, denied: 0 };
  await ctx.db.insert("playgroundSeconds", { room, second, ...nothing, [outcome]: 1, ...left });
  const old = await secondsOf(ctx, room).take(HISTORY_SECONDS + 10);
  for (const { _id } of old.slice(0, Math.max(0, old.length - HISTORY_SECONDS))) {
    await ctx.db.delete("playgroundSeconds", _id);
  }
}

async function clearHistory(ctx: MutationCtx, room: string): Promise<void> {
  for (const { _id } of await secondsOf(ctx, room).collect()) await ctx.db.delete("playgroundSeconds", _id);
}

function secondsOf(ctx: QueryCtx, room: string) {
  return ctx.db.query("playgroundSeconds").withIndex("by_room_second", (q) => q.eq("room", room));
}

async function configOf(ctx: QueryCtx, room: string): Promise<RateLimitConfig> {
  return (await settingsOf(ctx, room))?.config ?? DEFAULT_CONFIG;
}

async function settingsOf(ctx: QueryCtx, room: string): Promise<Doc<"playgroundRooms"> | null> {
  return await ctx.db
    .query("playgroundRooms")
    .withIndex("by_room", (q) => q.eq("room", room))
    .unique();
}

async function saveSettings(
  ctx: MutationCtx,
  room: string,
  settings: Partial<Pick<Doc<"playgroundRooms">, "config" | "shards">>,
): Promise<void> {
  const saved = await settingsOf(ctx, room);
  if (saved) await ctx.db.patch("playgroundRooms", saved._id, settings);
  else await ctx.db.insert("playgroundRooms", { room, ...settings });
}

/** A misuse is the visitor's here, not the code's: its message is for the page. */
async function saying<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw new ConvexError({ kind: "BadLimit", message: error instanceof Error ? error.message : String(error) });
  }
}

// 2. Failed logins: the rest is in logins.ts.

/** The room's account, whose password the page prints. */
export const openAccount = mutation({
  args: { room: v.string() },
  returns: v.object({ email: v.string(), password: v.string() }),
  handler: async (ctx, { room }) => {
    const account = { email: emailOf(room), password: "correct horse" };
    const known = await ctx.db
      .query("users")
      .withIndex("by_email", (q) => q.eq("email", account.email))
      .unique();
    if (!known) {
      const passwordDigest = await digest(account.email, account.password);
      await ctx.db.insert("users", { email: account.email, passwordDigest, plan: "free" });
    }
    return account;
  },
});

/** What the link in the "I cannot log in" mail would do. */
export const unlockAccount = mutation({
  args: { room: v.string() },
  returns: v.null(),
  handler: (ctx, { room }) => resetAppLimit(ctx, { name: "failedLogin", key: emailOf(room) }),
});

export const { getRateLimit: attempts } = exposeAppLimit("failedLogin", { key: (_ctx, room) => emailOf(room) });

function emailOf(room: string | undefined): string {
  return `ada@${checkedRoom(room)}.example`;
}

// 3. A queue for a language model.

type AskResult = { ok: true; runAt: number; waits: boolean } | { ok: false; retryAt: number };

/** Reserves the job's tokens and schedules it for the moment at which they are there. */
export const ask = mutation({
  args: { room: v.string(), tokens: v.number() },
  returns: v.union(
    v.object({ ok: v.literal(true), runAt: v.number(), waits: v.boolean() }),
    v.object({ ok: v.literal(false), retryAt: v.number() }),
  ),
  handler: async (ctx, { room, tokens }): Promise<AskResult> => {
    const earlier = await jobsOf(ctx, checkedRoom(room)).order("desc").take(SHOWN_JOBS);
    const askedAt = Date.now();
    const number = (earlier[0]?.number ?? 0) + 1;
    const job = await ctx.db.insert("playgroundJobs", {
      room,
      number,
      tokens,
      status: "queued",
      askedAt,
      promisedAt: askedAt,
    });
    const scheduled = await saying(() =>
      scheduleRateLimited(ctx, { name: "model", key: room, count: tokens }, internal.playground.runJob, { job }),
    );
    if (!scheduled.ok) {
      await ctx.db.delete("playgroundJobs", job);
      return { ok: false, retryAt: scheduled.retryAt };
    }
    await ctx.db.patch("playgroundJobs", job, { promisedAt: scheduled.runAt, handle: scheduled.job });
    await forgetOldJobs(ctx, room);
    return { ok: true, runAt: scheduled.runAt, waits: scheduled.runAt > Date.now() };
  },
});

/** Takes a job out of the queue and gives its tokens back; false when it was too late. */
export const cancel = mutation({
  args: { job: v.id("playgroundJobs") },
  returns: v.boolean(),
  handler: async (ctx, { job }) => {
    const handle = (await ctx.db.get("playgroundJobs", job))?.handle;
    if (!handle) return false;
    const { canceled } = await cancelRateLimited(ctx, handle);
    if (canceled) await ctx.db.patch("playgroundJobs", job, { status: "cancelled", endedAt: Date.now() });
    return canceled;
  },
});

/** The latest jobs, oldest first. */
export const jobs = query({
  args: { room: v.string() },
  returns: v.array(v.object({ _id: v.id("playgroundJobs"), ...jobFields })),
  handler: async (ctx, { room }) => {
    const latest = await jobsOf(ctx, room).order("desc").take(SHOWN_JOBS);
    return latest.reverse().map(shownOf);
  },
});

export const runJob = internalAction({
  args: { job: v.id("playgroundJobs") },
  returns: v.null(),
  handler: async (ctx, { job }): Promise<null> => {
    await ctx.runMutation(internal.playground.setRunning, { job });
    await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
    await ctx.runMutation(internal.playground.setDone, { job });
    return null;
  },
});

export const setRunning = internalMutation({
  args: { job: v.id("playgroundJobs") },
  returns: v.null(),
  handler: async (ctx, { job }) => {
    await ctx.db.patch("playgroundJobs", job, { status: "running", startedAt: Date.now() });
    return null;
  },
});

export const setDone = internalMutation({
  args: { job: v.id("playgroundJobs") },
  returns: v.null(),
  handler: async (ctx, { job }) => {
    await ctx.db.patch("playgroundJobs", job, { status: "done", endedAt: Date.now() });
    return null;
  },
});

function shownOf({
  _id,
  room,
  number,
  tokens,
  status,
  askedAt,
  promisedAt,
  startedAt,
  endedAt,
}: Doc<"playgroundJobs">) {
  return { _id, room, number, tokens, status, askedAt, promisedAt, startedAt, endedAt };
}

async function forgetOldJobs(ctx: MutationCtx, room: string): Promise<void> {
  const all = await jobsOf(ctx, room).collect();
  const over = all.slice(0, Math.max(0, all.length - SHOWN_JOBS));
  for (const { _id, status } of over) {
    if (status === "done" || status === "cancelled") await ctx.db.delete("playgroundJobs", _id);
  }
}

function jobsOf(ctx: QueryCtx, room: string) {
  return ctx.db.query("playgroundJobs").withIndex("by_room", (q) => q.eq("room", room));
}

// 4. A hot limit.

/** One call of many: in the steady state it reads one row and writes it. */
export const hit = mutation({
  args: { room: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { room }) => {
    const config = await hotConfigOf(ctx, checkedRoom(room));
    return (await rateLimit(ctx, { name: "hot", key: room, config })).ok;
  },
});

/** Changes the number of rows while the limit is in use; the rows follow as they are touched. */
export const setShards = mutation({
  args: { room: v.string(), shards: vShards },
  returns: v.null(),
  handler: async (ctx, { room, shards }) => {
    const config = { ...HOT_CONFIG, shards };
    await saying(() => getRateLimit(ctx, { name: "hot", key: checkedRoom(room), config }));
    await saveSettings(ctx, room, { shards });
    return null;
  },
});

async function hotConfigOf(ctx: QueryCtx, room: string): Promise<RateLimitConfig> {
  return { ...HOT_CONFIG, shards: (await settingsOf(ctx, room))?.shards ?? DEFAULT_SHARDS };
}

// 5. A limit that two windows share.

/** A denial is thrown: the page shows it with `isRateLimitError`. */
export const post = mutation({
  args: { room: v.string() },
  returns: v.null(),
  handler: async (ctx, { room }) => {
    await rateLimit(ctx, { name: "shared", key: checkedRoom(room), throws: true });
    return null;
  },
});
