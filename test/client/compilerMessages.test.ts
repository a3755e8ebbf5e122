/** The compiler's message for each mistake, and calls that compile with the strictest settings: one small program, compiled in memory. */
import ts from "typescript";
import { expect, it } from "vitest";
import { openEditor } from "./editor.js";

const APP = `
import { defineRateLimits, MINUTE, type RateLimitConfig } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { RateLimiter } from "convex-rate-limits/compat";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";
import { rateLimitJobs } from "convex-rate-limits/jobs";
import { rateLimitLive } from "convex-rate-limits/live";
import { rateLimitQueue as rateLimitQueueInComponent } from "convex-rate-limits/component/queue";
import { rateLimitQueue, type EnqueueResult, type RateLimitQueuePosition } from "convex-rate-limits/queue";
import { rateLimitQueueTables, vRateLimitQueuePosition } from "convex-rate-limits/queue/schema";
import type { RateLimitUsage, RateLimitWatch } from "convex-rate-limits/client";
import { rateLimitTables, vRateLimitOverride } from "convex-rate-limits/schema";
import type { ComponentApi } from "convex-rate-limits/_generated/component.js";
import { defineSchema, defineTable, makeFunctionReference, type DataModelFromSchemaDefinition, type GenericActionCtx, type GenericMutationCtx, type GenericQueryCtx } from "convex/server";
import { v, type Infer } from "convex/values";
const messages = defineTable({ body: v.string() });
const full = defineSchema({ ...rateLimitTables, ...rateLimitQueueTables, messages });
const noQueue = defineSchema({ ...rateLimitTables, messages });
const bare = defineSchema({ messages });
type App = DataModelFromSchemaDefinition<typeof full>;
type NoQueue = DataModelFromSchemaDefinition<typeof noQueue>;
type Bare = DataModelFromSchemaDefinition<typeof bare>;
declare const mutation: GenericMutationCtx<App>;
declare const query: GenericQueryCtx<App>;
declare const action: GenericActionCtx<App>;
declare const bareMutation: GenericMutationCtx<Bare>;
declare const bareQuery: GenericQueryCtx<Bare>;
declare const noQueueMutation: GenericMutationCtx<NoQueue>;
declare const component: ComponentApi;
declare const anyName: string;
declare const maybe: string | undefined;
declare const some: "send" | "api";
declare const count: number | undefined;
declare const flag: boolean | undefined;
declare const maybeConfig: RateLimitConfig | undefined;
const work = makeFunctionReference<"mutation">("jobs:work");
const mail = makeFunctionReference<"mutation", { to: string }, null>("mail:send");
const lookAt = makeFunctionReference<"query", { to: string }, null>("mail:lookAt");
const config: RateLimitConfig = { kind: "token bucket", rate: 1, period: MINUTE };
const definitions = {
  send: { kind: "token bucket", rate: 10, period: MINUTE, keyed: true },
  signUp: { kind: "fixed window", rate: 100, period: MINUTE, keyed: false },
  api: { kind: "token bucket", rate: 10, period: MINUTE },
  waiting: { kind: "token bucket", rate: 10, period: MINUTE, queue: {} },
  inTurns: { kind: "token bucket", rate: 10, period: MINUTE, queue: { fair: true } },
  generate: { kind: "token bucket", period: MINUTE, plans: { free: { rate: 1 }, pro: { rate: 9 } } },
  mixed: { period: MINUTE, queue: {}, plans: { steady: { kind: "token bucket", rate: 6 }, strict: { kind: "sliding window", rate: 3 } } },
  runs: { kind: "concurrency", slots: 3, lease: MINUTE },
  seats: { kind: "concurrency", lease: MINUTE, plans: { free: { slots: 1 }, pro: { slots: 9 } } },
} as const;
const limits = defineRateLimits(definitions);
const inComponent = defineInComponent(definitions, { component });
const { scheduleRateLimited, releaseRateLimit } = rateLimitJobs(limits);
const { getRateLimit, exposeRateLimit } = rateLimitLive(limits);
/** Limits without definitions. */
const free = defineRateLimits({});
const freeJobs = rateLimitJobs(free);
const freeInComponent = defineInComponent({}, { component });
const { enqueueRateLimited } = rateLimitQueue(limits);
const { overrideRateLimit, clearRateLimitOverride, listRateLimits, sweepRateLimits } = rateLimitAdmin(limits);
const adminOfComponent = rateLimitAdmin(inComponent);
const limiter = new RateLimiter(component, { send: { kind: "token bucket", rate: 2, period: 1000 } });
`;

/** The compiler's messages about each statement. All statements are in one file, so that the app above is checked once. */
function messagesOf(statements: readonly string[], extra: ts.CompilerOptions = {}): string[][] {
  const blocks = statements.map((statement) => `{ ${statement} }\n`);
  const text = [APP, ...blocks, "export {};\n"].join("");
  const found = openEditor(text, { noUnusedLocals: false, ...extra }).messages();
  expect(found.filter(({ start = 0 }) => start < APP.length)).toEqual([]);
  let start = APP.length;
  return blocks.map((block) => {
    const end = start + block.length;
    const own = found.filter((each) => start <= (each.start ?? 0) && (each.start ?? 0) < end);
    start = end;
    return own.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  });
}

/**
 * Mistakes: misspellings, and guesses of an assistant that has not read the documents or knows another limiter. None of them compiles. Each
 * gives one message of at most five lines that says what to do. The lint rule finds results that are not read.
 */
const MISTAKES: readonly (readonly [message: RegExp, ...statements: string[]])[] = [
  // A name that is not one of the limits, or may not be one.
  [
    /Property 'config' is missing [^]*required in type 'NotOneOfYourLimits'/,
    `limits.rateLimit(mutation, { name: "sned", key: "a" })`,
    `limits.checkRateLimit(query, { name: "sned", key: "a" })`,
    `limits.rateLimitAll(mutation, [{ name: "signUp" }, { name: "sned", key: "a" }])`,
    `limits.adjustRateLimit(mutation, { name: "sned", key: "a", count: 5 })`,
    `limits.resetRateLimit(mutation, { name: "sned", key: "a" })`,
    `getRateLimit(query, { name: "signup" })`,
    `limits.rateLimit(mutation, { name: anyName, key: "a" })`,
    `inComponent.checkRateLimit(query, { name: "signup" })`,
    `free.rateLimit(mutation, { name: "a" })`,
    `free.rateLimitAll(mutation, [{ name: "a" }])`,
    `freeJobs.scheduleRateLimited(mutation, { name: "a" }, work)`,
    `freeInComponent.rateLimit(bareMutation, { name: "a" })`,
  ],
  [/'{ name: "toString"; }' is not assignable/, `getRateLimit(query, { name: "toString" })`],
  [/Property 'config' is missing/, `exposeRateLimit("sned", {})`],
  [/Did you mean '"send"'\?/, `listRateLimits(query, { name: "sendd" })`],
  [/to parameter of type 'never'/, `rateLimitAdmin(freeInComponent).listRateLimits(bareQuery, { name: "a" })`],
  [/Property 'name' is missing/, `limits.rateLimit(mutation, { key: "a" })`],
  // `keyed: true` requires a key, with any config. If the name is one of several, one of them with `keyed: true` is enough.
  [
    /Property 'key' is missing/,
    `limits.rateLimit(mutation, { name: "send" })`,
    `limits.rateLimit(mutation, { name: "send", config })`,
    `limits.resetRateLimit(mutation, { name: "send" })`,
    `getRateLimit(mutation, { name: "send" })`,
    `limits.rateLimitAll(mutation, [{ name: "signUp" }, { name: "send" }])`,
    `limits.adjustRateLimit(mutation, { name: "send", count: 1 })`,
    `scheduleRateLimited(mutation, { name: "send" }, work)`,
    `exposeRateLimit("send", {})`,
    `limits.rateLimit(mutation, { name: some })`,
    `limits.rateLimitAll(mutation, [{ name: some }])`,
    `limits.rateLimit(mutation, { name: "send" as keyof typeof definitions })`,
    `limits.adjustRateLimit(mutation, { name: some, count: 1 })`,
    `async <Name extends "send" | "api">(name: Name) => await limits.rateLimit(mutation, { name })`,
  ],
  // A user id that is missing, or may be missing, must not become one bucket for all users.
  [
    /Type 'undefined' is not assignable to type 'string'/,
    `limits.rateLimit(mutation, { name: "send", key: undefined })`,
    `inComponent.rateLimit(mutation, { name: "send", key: maybe })`,
    `inComponent.checkRateLimit(query, { name: some, key: undefined })`,
  ],
  [/Type 'number' is not assignable to type 'string'/, `limits.rateLimit(mutation, { name: "send", key: 7 })`],
  [/Type 'null' is not assignable/, `limits.rateLimit(mutation, { name: "api", key: null })`],
  // `keyed: false` is one bucket for all.
  [
    /string' is not assignable to type 'undefined'/,
    `limits.rateLimit(mutation, { name: "signUp", key: "a" })`,
    `inComponent.checkRateLimit(query, { name: "signUp", key: maybe })`,
    `limits.checkRateLimitAll(query, [{ name: "signUp", key: "a" }])`,
    `exposeRateLimit("signUp", { key: () => "ann" })`,
  ],
  // An unknown argument, and an argument that only other calls have.
  [
    /'cuont' does not exist in type .*Did you mean to write 'count'\?/,
    `limits.rateLimit(mutation, { name: "signUp", cuont: 1 })`,
    `inComponent.rateLimit(mutation, { name: "signUp", cuont: 2 })`,
    `free.rateLimit(mutation, { name: "a", config, cuont: 2 })`,
  ],
  [
    /'(component|count|throws?|atLeast|reserved?|nxet|plan)' does not exist in type/,
    `free.rateLimit(mutation, { name: "a", config, component })`,
    `getRateLimit(mutation, { name: "signUp", count: 2 })`,
    `limits.resetRateLimit(mutation, { name: "signUp", count: 2 })`,
    `limits.rateLimitAll(mutation, [{ name: "signUp", throws: true }])`,
    `limits.rateLimitAll(mutation, [{ name: "signUp" }], { throw: true })`,
    `limits.rateLimit(mutation, { name: "signUp", atLeast: 1 })`,
    `scheduleRateLimited(mutation, { name: "signUp", reserve: true }, work)`,
    `adminOfComponent.sweepRateLimits(bareMutation, { nxet: work })`,
    `limiter.limit(mutation, "send", { reserved: true })`,
    `limits.rateLimit(mutation, { name: "signUp", plan: "pro" })`,
  ],
  [/Property 'count' is missing/, `limits.adjustRateLimit(mutation, { name: "signUp" })`],
  [/Property 'next' is missing/, `sweepRateLimits(mutation, {})`],
  [/^Expected 2 arguments, but got 1/, `exposeRateLimit("signUp")`, `defineInComponent({ send: config })`],
  // A value of another type.
  [
    /^Type '.*' is not assignable to type/,
    `limits.rateLimit(mutation, { name: "signUp", count: "2" })`,
    `limits.rateLimit(mutation, { name: "signUp", reserve: "yes" })`,
    `limits.rateLimit(mutation, { name: "signUp", mode: "off" })`,
    `listRateLimits(query, { name: "send", cursor: null })`,
    `exposeRateLimit("send", { key: () => 1 })`,
  ],
  // The function that is scheduled, its arguments, and the function that continues a sweep.
  [/^Expected 4 arguments/, `scheduleRateLimited(mutation, { name: "signUp" }, mail)`],
  [/'number' .* 'string'/, `scheduleRateLimited(mutation, { name: "signUp" }, mail, { to: 5 })`],
  [/'too' does not exist/, `scheduleRateLimited(mutation, { name: "signUp" }, mail, { too: "b" })`],
  [/Type '"query"' is not/, `scheduleRateLimited(mutation, { name: "signUp" }, lookAt, { to: "b" })`],
  [/has no properties in common with type '{ cursor\?/, `sweepRateLimits(mutation, { next: mail })`],
  // The official component's way of calling.
  [/^Property 'limit' does not exist on type 'RateLimits</, `limits.limit(mutation, "send", { key: "a" })`],
  [/^Expected 2 arguments, but got 3/, `limits.rateLimit(mutation, "send", { key: "a" })`],
  [
    /^Property 'ok' does not exist on type 'Promise<ExactRateLimitStatus>'/,
    `limits.rateLimit(mutation, { name: "signUp" }).ok`,
  ],
  [
    /'retryAfter' does not exist .*Did you mean 'retryAt'\?/,
    `limits.rateLimit(mutation, { name: "send", key: "a" }).then((status) => !status.ok && status.retryAfter)`,
  ],
  [
    /^Expected 3 arguments, but got 2|Property 'config' is missing/,
    `limiter.limit(mutation, "sned")`,
    `limiter.check(mutation, "sned", { key: "ada" })`,
    `limiter.getValue(mutation, "sned")`,
  ],
  // The place: tables or component.
  [/in type 'ImportDefineRateLimitsFromTheComponentEntry'/, `defineRateLimits({ send: config }, { component })`],
  [/Type '{}' is missing .* from type 'ComponentApi'/, `defineInComponent(definitions, { component: {} })`],
  [/type 'ImportRateLimitQueueFromTheQueueEntry'/, `rateLimitQueueInComponent(defineRateLimits({ send: config }))`],
  [/Did you mean to write 'component'\?/, `defineRateLimits(definitions, { componnet: component })`],
  // Fields and values of other limiters, in definitions and inline.
  [/Did you mean '"token bucket"'\?/, `defineRateLimits({ a: { kind: "tokenBucket", rate: 1, period: 1 } })`],
  [/'number \| "day" \| "week" \|/, `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: "minute" } })`],
  [/Did you mean to write 'period'\?/, `defineRateLimits({ a: { kind: "token bucket", rate: 1, periodMs: 1 } })`],
  [
    /'(limit|burst|keyed|start|spread)' does not exist in type/,
    `defineRateLimits({ a: { kind: "token bucket", limit: 1, period: 1 } })`,
    `limits.rateLimit(mutation, { name: "inline", config: { ...config, burst: 3 } })`,
    `limits.rateLimit(mutation, { name: "inline", config: { ...config, keyed: true } })`,
    `free.rateLimit(mutation, { name: "inline", config: { kind: "token bucket", rate: 1, period: 1, start: 0 } })`,
    `defineRateLimits({}, { throws: { spread: 1 } })`,
  ],
  [
    /^Object literal may only .* '(start|burst|many|spread|exakt)' does not exist in type '(Terms<"a"> & TokenBucketConfig|Omit<TokenBucketConfig|QueueConfig<|{)/,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, burst: 3 } })`,
    `defineInComponent({ a: { kind: "token bucket", rate: 1, period: 1, burst: 3 } }, { component })`,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, start: 0 } })`,
    `defineRateLimits({ a: { kind: "token bucket", period: 1, plans: { free: { rate: 1, burst: 3 } } } })`,
    `defineRateLimits({ a: { kind: "token bucket", period: 1, plans: { free: { rate: 1, start: 0 } } } })`,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, shards: { atLeast: 1, many: 2 } } })`,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, queue: { fair: true, exakt: true } } })`,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, throws: { jitter: 1, spread: 1 } } })`,
  ],
  [
    // A limit in `with`: of another name, or the queue's own.
    /^Object literal may only specify known properties, and '(nope|a)' does not exist in type/,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, queue: { with: { nope: 1 } } }, b: config })`,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, queue: { with: { a: 1 } } }, b: config })`,
  ],
  [
    /Did you mean to write '(capacity|maxReserved|keyed)'\?$/,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, capactiy: 3 } })`,
    `defineInComponent({ a: { kind: "fixed window", rate: 1, period: "day", maxReserve: 3 } }, { component })`,
    `defineRateLimits({ a: { kind: "token bucket", period: 1, keyd: true, plans: { free: { rate: 1 } } } })`,
  ],
  [
    // In `with`: a limit with a queue, with keys that the queue has not, or without tokens.
    /required in type 'NoSuchField<"(capactiy|exakt|b)">'/,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, queue: { with: { b: 1 } } }, b: { kind: "token bucket", rate: 1, period: 1, queue: {} } })`,
    `defineInComponent({ a: { kind: "token bucket", rate: 1, period: 1, queue: { with: { b: 1 } } }, b: { kind: "token bucket", rate: 1, period: 1, keyed: true } }, { component })`,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, queue: { with: { b: 1 } } }, b: { kind: "concurrency", slots: 1, lease: 1 } })`,
    `const a = { kind: "token bucket", rate: 1, period: 1, capactiy: 3 } as const; defineRateLimits({ a })`,
    `const a = { kind: "token bucket", rate: 1, period: 1, queue: { fair: true, exakt: true } } as const; defineRateLimits({ a })`,
  ],
  [
    /^Type 'number' is not assignable to type 'undefined'/,
    `defineRateLimits({ a: { kind: "sliding window", period: 1, plans: { free: { rate: 1, capacity: 5 } } } })`,
    `defineRateLimits({ a: { kind: "token bucket", period: 1, plans: { free: { rate: 1, shards: 4 } } } })`,
  ],
  [
    /^Type '("leaky bucket"|"many"|"off"|string)' is not assignable to type/,
    `defineRateLimits({ a: { kind: "leaky bucket", rate: 1, period: 1 } })`,
    `defineRateLimits({ a: { kind: "fixed window", rate: 1, period: 1, shards: "many" } })`,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, mode: "off" } })`,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, throws: "always" } })`,
  ],
  [/Property 'period' is missing .* in type 'FixedWin/, `defineRateLimits({ a: { kind: "fixed window", rate: 1 } })`],
  [/'capacity' are incompat/, `defineRateLimits({ a: { kind: "sliding window", rate: 1, period: 1, capacity: 2 } })`],
  [/Property 'rate' is missing/, `defineRateLimits({ a: { kind: "token bucket", period: 1, plans: { free: {} } } })`],
  [/Property 'kind' is missing/, `defineRateLimits({ a: { period: 1, plans: { free: { rate: 1 } } } })`],
  [
    /Property '(timeZone|period)' is missing/,
    `defineRateLimits({ a: { timeZone: "UTC", plans: { free: { kind: "token bucket", rate: 1, period: 1 } } } })`,
    `defineRateLimits({ a: { period: "day", plans: { free: { kind: "token bucket", rate: 1 } } } })`,
  ],
  // The ctx: of a schema that has a table, but not ours; of a query; of an action.
  [
    /Types of parameters 'tableName' and 'spreadRateLimitTablesIntoTheSchema' are incompatible\.\n *Type '"rateLimits"' is not assignable to type '"messages"'/,
    `limits.rateLimit(bareMutation, { name: "signUp" })`,
    `limits.checkRateLimit(bareQuery, { name: "signUp" })`,
    `limits.rateLimitAll(bareMutation, [{ name: "signUp" }])`,
    `getRateLimit(bareQuery, { name: "signUp" })`,
  ],
  [
    /type 'MutationCtxWithRateLimitTables'[^]* missing .*: insert, patch, delete$/,
    `limits.rateLimit(query, { name: "signUp" })`,
  ],
  [
    /Property 'db' is missing [^]* required in type 'MutationCtxWithRateLimitTables/,
    `limits.rateLimit(action, { name: "signUp" })`,
  ],
  // Calls that need plans or a queue in the definition.
  [
    /Property 'plan' is missing [^]* type '{ plan: "(free" \| "pro|steady" \| "strict)"; }'/,
    `limits.rateLimit(mutation, { name: "generate" })`,
    `limits.rateLimitAll(mutation, [{ name: "mixed" }, { name: "signUp" }])`,
    `scheduleRateLimited(mutation, { name: "mixed" }, work)`,
    `enqueueRateLimited(mutation, { name: "mixed" }, work)`,
  ],
  [
    /Property 'plan' is missing [^]* type '{ plan: string; }'/,
    `limits.rateLimit(mutation, { name: "api" as "api" | "generate" })`,
  ],
  [
    /"(gold|pro)"' is not assignable to type '"(free" \| "pro|steady" \| "strict)"/,
    `limits.rateLimit(mutation, { name: "generate", plan: "gold" })`,
    `limits.checkRateLimit(query, { name: "mixed", plan: "pro" })`,
    `getRateLimit(query, { name: "mixed", plan: "gold" })`,
    `exposeRateLimit("generate", { plan: () => "gold" })`,
    `overrideRateLimit(mutation, { name: "generate", plan: "gold" })`,
    `listRateLimits(query, { name: "generate", plan: "gold" })`,
  ],
  [
    /'TokenBucketConfig' is not assignable to type 'undefined'/,
    `limits.rateLimit(mutation, { name: "mixed", plan: "steady", config })`,
  ],
  // Slots: a call takes one, now, and it comes back by its lease.
  [
    /^Type '(number|true|boolean|{ within: number; })' is not assignable to type 'undefined'/,
    `limits.rateLimit(mutation, { name: "runs", count: 2 })`,
    `limits.rateLimit(mutation, { name: "seats", plan: "pro", count: 2 })`,
    `limits.checkRateLimit(query, { name: "runs", reserve: true })`,
    `limits.rateLimit(mutation, { name: "runs", refundable: true })`,
    `limits.rateLimitAll(mutation, [{ name: "signUp", count: 2 }, { name: "runs", reserve: { within: 5 } }])`,
  ],
  [
    /'NotForSlots'/,
    `limits.adjustRateLimit(mutation, { name: "runs", count: -1 })`,
    `scheduleRateLimited(mutation, { name: "seats", plan: "pro" }, work)`,
  ],
  [
    /^Object literal may only .* '(shards|rate)' does not exist|is not assignable to type 'undefined'/,
    `defineRateLimits({ a: { kind: "concurrency", slots: 1, lease: 1, shards: 2 } })`,
    `defineRateLimits({ a: { kind: "concurrency", slots: 1, lease: 1, queue: {} } })`,
    `defineRateLimits({ a: { kind: "concurrency", slots: 1, lease: 1, rate: 2 } })`,
    `defineRateLimits({ a: { kind: "concurrency", lease: 1, plans: { free: { slots: 1, maxReserved: 2 } } } })`,
  ],
  [/Property 'lease' is missing/, `defineRateLimits({ a: { kind: "concurrency", slots: 1 } })`],
  [/Property 'slots' is missing/, `defineRateLimits({ a: { kind: "concurrency", lease: 1, plans: { free: {} } } })`],
  [
    /'undefined' is not assignable/,
    `limits.rateLimit(mutation, { name: "runs" }).then(({ lease }) => releaseRateLimit(mutation, lease))`,
    `limits.rateLimit(mutation, { name: "api", throws: true }).then(({ lease }) => releaseRateLimit(mutation, lease))`,
  ],
  [/'ConcurrencyConfig': slots, lease/, `limits.rateLimit(mutation, { name: "runs", config })`],
  [/to type 'LimitDefinedWithQueue'/, `enqueueRateLimited(mutation, { name: "signUp" }, work)`],
  [/to type 'OnlyWithFairTrue/, `enqueueRateLimited(mutation, { name: "waiting", fairBy: "ada" }, work)`],
  // It is a mutation; and a function that never says what it has used.
  [
    /^Type ('"action"' is not assignable to type '"mutation"'|'string' .* 'FunctionReturnsNoUse')/,
    `enqueueRateLimited(mutation, { name: "waiting", settles: "action" }, work)`,
    `enqueueRateLimited(mutation, { name: "waiting", settles: "mutation" }, mail, { to: "b" })`,
  ],
  // The mutation that hears of dropped jobs takes their arguments and the reason.
  [
    /type 'GetsArgsAndReason'/,
    `enqueueRateLimited(mutation, { name: "waiting", onDropped: mail }, mail, { to: "b" })`,
    `enqueueRateLimited(mutation, { name: "waiting", onDropped: makeFunctionReference<"mutation", { args: { from: string }; reason: string }>("a:b") }, mail, { to: "b" })`,
    `enqueueRateLimited(mutation, { name: "waiting", onDropped: makeFunctionReference<"mutation", { args: { to: string } }>("a:b") }, mail, { to: "b" })`,
  ],
  [/Property 'fairBy' is missing/, `enqueueRateLimited(mutation, { name: "inTurns" }, work)`],
];

/** Mistakes whose messages say what to do further down, so they may have more than five lines. */
const DEEPER: typeof MISTAKES = [
  [
    /Types of parameters 'tableName' and 'spreadRateLimitQueueTablesIntoTheSchema' are incompatible/,
    `enqueueRateLimited(noQueueMutation, { name: "waiting" }, work)`,
  ],
  [
    /string' is not assignable to type 'undefined'/,
    `async <Name extends "signUp" | "api">(name: Name) => await limits.rateLimit(mutation, { name, key: "a" })`,
  ],
];

it("the compiler answers each mistake with one message that says what to do", () => {
  const mistakes = [...MISTAKES, ...DEEPER].flatMap(([expected, ...statements]) =>
    statements.map((statement) => ({ expected, statement })),
  );
  const messages = messagesOf(mistakes.map(({ statement }) => statement));
  const deeper = DEEPER.flatMap(([, ...statements]) => statements);
  for (const [i, { expected, statement }] of mistakes.entries()) {
    const [message = "", ...more] = messages[i] ?? [];
    expect.soft(message, statement).toMatch(expected);
    if (!deeper.includes(statement)) expect.soft(message.split("\n").length, statement).toBeLessThanOrEqual(5);
    expect.soft(more, statement).toEqual([]);
  }
});

it("with exactOptionalPropertyTypes, an optional argument may be undefined, and a field of a config may not", () => {
  const leftOut = [
    `limits.rateLimit(mutation, { name: "send", key: "a", count, reserve: flag, throws: flag, config: maybeConfig })`,
    `limits.checkRateLimit(query, { name: "signUp", key: undefined, count, reserve: flag, throws: flag, config: maybeConfig })`,
    `limits.rateLimitAll(mutation, [{ name: "signUp", count, reserve: flag, config: maybeConfig }], { throws: flag })`,
    `limits.resetRateLimit(mutation, { name: "signUp", config: maybeConfig })`,
    `listRateLimits(query, { name: "send", cursor: maybe, limit: count, onlyLimited: flag })`,
    `limits.rateLimit(mutation, { name: "mine", key: maybe, config: { kind: "token bucket", rate: 1, period: 1 } })`,
    `defineRateLimits({}, { errorKeys: flag })`,
    `defineRateLimits({ a: { kind: "token bucket", rate: 1, period: 1, shards: {} as any }, b: {} as any })`,
    // A definition that another module exports: its kind is not known.
    `defineRateLimits({ a: {} as RateLimitConfig })`,
    `defineInComponent({ a: {} as RateLimitConfig }, { component })`,
    // The argument of a mutation for administrators, of any limit.
    `overrideRateLimit(mutation, { name: "send", key: "a", ...({} as Infer<typeof vRateLimitOverride>) })`,
    `overrideRateLimit(mutation, { name: "generate", ...({} as Infer<typeof vRateLimitOverride>) })`,
    `adminOfComponent.overrideRateLimit(mutation, { name: "runs", ...({} as Infer<typeof vRateLimitOverride>) })`,
    // Answers that an app's function returns.
    `const place: Infer<typeof vRateLimitQueuePosition> = {} as RateLimitQueuePosition;`,
    `const reason: { reason?: "too large" } = {} as EnqueueResult;`,
    `const used: { used: number; of: number; resetAt?: number; plan?: string } = {} as RateLimitUsage;`,
    `const inForce: { plan?: string } | undefined = ({} as RateLimitWatch).limit();`,
  ];
  const field = `const config: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1, maxReserved: undefined };`;
  const [refused = [], ...fine] = messagesOf([field, ...leftOut], { exactOptionalPropertyTypes: true });
  expect(refused.join()).toContain("exactOptionalPropertyTypes");
  expect(fine.flat()).toEqual([]);
  expect(messagesOf([field])).toEqual([[]]);
});
