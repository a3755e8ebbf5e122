/** What the compiler says to a mistake, and what compiles with the strictest settings: small programs, compiled in memory. */
import path from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");

const APP = `
import { defineRateLimits, MINUTE, type RateLimitConfig } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";
import { rateLimitQueue } from "convex-rate-limits/queue";
import { rateLimitQueueTables } from "convex-rate-limits/queue/schema";
import { rateLimitTables } from "convex-rate-limits/schema";
import type { ComponentApi } from "convex-rate-limits/_generated/component.js";
import { defineSchema, defineTable, makeFunctionReference, type DataModelFromSchemaDefinition, type GenericActionCtx, type GenericMutationCtx, type GenericQueryCtx } from "convex/server";
import { v } from "convex/values";
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
const work = makeFunctionReference<"mutation">("jobs:work");
const limits = defineRateLimits({
  send: { kind: "token bucket", rate: 10, period: MINUTE, keyed: true },
  signUp: { kind: "fixed window", rate: 100, period: MINUTE, keyed: false },
  api: { kind: "token bucket", rate: 10, period: MINUTE, overrides: true },
  waiting: { kind: "token bucket", rate: 10, period: MINUTE, queue: {} },
  inTurns: { kind: "token bucket", rate: 10, period: MINUTE, queue: { fair: true } },
  generate: { kind: "token bucket", period: MINUTE, plans: { free: { rate: 1 }, pro: { rate: 9 } } },
});
const { enqueueRateLimited } = rateLimitQueue(limits);
const { overrideRateLimit, clearRateLimitOverride } = rateLimitAdmin(limits);
`;

/** The files that all programs share are parsed once. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/** The compiler's messages about each of several programs, which are compiled together: their imports are checked once. */
function messagesOf(programs: readonly string[], extra: ts.CompilerOptions = {}): string[][] {
  const texts = new Map(
    programs.map((program, index) => [path.join(root, `test/messages${index}.ts`), `${APP}${program}\nexport {};\n`]),
  );
  const { config } = ts.readConfigFile(path.join(root, "tsconfig.json"), (name) => ts.sys.readFile(name)) as {
    config: unknown;
  };
  const options = { ...ts.parseJsonConfigFileContent(config, ts.sys, root).options, noUnusedLocals: false, ...extra };
  const host = ts.createCompilerHost(options);
  const ownHost: ts.CompilerHost = {
    ...host,
    fileExists: (name) => texts.has(name) || host.fileExists(name),
    getSourceFile: (name, version, ...rest) => {
      const text = texts.get(name);
      if (text !== undefined) return ts.createSourceFile(name, text, version, true);
      if (!parsed.has(name)) parsed.set(name, host.getSourceFile(name, version, ...rest));
      return parsed.get(name);
    },
  };
  const compiled = ts.createProgram([...texts.keys()], options, ownHost);
  return [...texts.keys()].map((file) => {
    const source = compiled.getSourceFile(file);
    return [...compiled.getSyntacticDiagnostics(source), ...compiled.getSemanticDiagnostics(source)].map(
      ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"),
    );
  });
}

/**
 * The guesses of an assistant that has not read the documents, or knows another limiter. None of them compiles. Each gives one message of
 * at most five lines, which says what to do. The lint rule finds results that are not read.
 */
const MISSPELT = /name: "sned"[^]*required in type 'NotOneOfYourLimits'/;
/** The lines that stand for a schema without a table, of an app that has another. */
const TABLES =
  /Types of parameters 'tableName' and 'spreadRateLimitTablesIntoTheSchema' are incompatible\.\n *Type '"rateLimits"' is not assignable to type '"messages"'/;
const GUESSES: readonly (readonly [guess: string, message: RegExp])[] = [
  // A misspelt name, and an argument that is missing or unknown.
  [`void limits.rateLimit(mutation, { name: "sned", key: "a" });`, MISSPELT],
  [`void limits.checkRateLimit(query, { name: "sned", key: "a" });`, MISSPELT],
  [`void limits.rateLimitAll(mutation, [{ name: "signUp" }, { name: "sned", key: "a" }]);`, MISSPELT],
  [`void limits.adjustRateLimit(mutation, { name: "sned", key: "a", count: 5 });`, MISSPELT],
  [`void limits.resetRateLimit(mutation, { name: "sned", key: "a" });`, MISSPELT],
  [`void limits.rateLimit(mutation, { name: "send" });`, /'key' is missing/],
  [`void limits.rateLimit(mutation, { name: "signUp", cuont: 1 });`, /'cuont' does not exist/],
  // The official component's way of calling.
  [`void limits.limit(mutation, "send", { key: "a" });`, /^Property 'limit' does not exist on type 'RateLimits</],
  [`void limits.rateLimit(mutation, "send", { key: "a" });`, /^Expected 2 arguments, but got 3/],
  [
    `limits.rateLimit(mutation, { name: "send", key: "a" }).then((status) => !status.ok && status.retryAfter);`,
    /'retryAfter' does not exist .*Did you mean 'retryAt'\?/,
  ],
  [
    `defineRateLimits({ send: { kind: "token bucket", rate: 1, period: 1 } }, { component });`,
    /in type 'ImportDefineRateLimitsFromTheComponentEntry'/,
  ],
  [`defineInComponent({ send: { kind: "token bucket", rate: 1, period: 1 } });`, /^Expected 2 arguments, but got 1/],
  // Fields and values of other limiters.
  [`defineRateLimits({ send: { kind: "tokenBucket", rate: 1, period: 1 } });`, /Did you mean '"token bucket"'\?/],
  [
    `defineRateLimits({ send: { kind: "token bucket", rate: 1, period: "minute" } });`,
    /'number \| "day" \| "week" \| "month"/,
  ],
  [`defineRateLimits({ send: { kind: "token bucket", rate: 1, periodMs: 1 } });`, /Did you mean to write 'period'\?/],
  [`defineRateLimits({ send: { kind: "token bucket", limit: 1, period: 1 } });`, /'limit' does not exist in type/],
  [
    `defineRateLimits({ send: { kind: "sliding window", rate: 1, period: 1, capacity: 2 } });`,
    /'capacity' are incompatible/,
  ],
  // The ctx.
  [`void limits.rateLimit(bareMutation, { name: "signUp" });`, TABLES],
  [`void limits.checkRateLimit(bareQuery, { name: "signUp" });`, TABLES],
  [`void limits.rateLimitAll(bareMutation, [{ name: "signUp" }]);`, TABLES],
  [`void limits.getRateLimit(bareQuery, { name: "signUp" });`, TABLES],
  [
    `void limits.rateLimit(query, { name: "signUp" });`,
    /type 'MutationCtxWithRateLimitTables'[^]* missing .*: insert, patch, delete$/,
  ],
  [
    `void limits.rateLimit(action, { name: "signUp" });`,
    /Property 'db' is missing [^]* required in type 'MutationCtxWithRateLimitTables'/,
  ],
  // What a definition has to say.
  [
    `void limits.rateLimit(mutation, { name: "generate" });`,
    /Property 'plan' is missing [^]* type '{ plan: "free" \| "pro"; }'/,
  ],
  [
    `void overrideRateLimit(mutation, { name: "send", key: "a", block: true });`,
    /to type 'LimitDefinedWithOverridesTrue'/,
  ],
  [`void clearRateLimitOverride(mutation, { name: "signUp" });`, /to type 'LimitDefinedWithOverridesTrue'/],
  [`void enqueueRateLimited(mutation, { name: "signUp" }, work);`, /to type 'LimitDefinedWithQueue'/],
  [`void enqueueRateLimited(mutation, { name: "waiting", fairBy: "ada" }, work);`, /to type 'OnlyWithFairTrue/],
  [`void enqueueRateLimited(mutation, { name: "inTurns" }, work);`, /Property 'fairBy' is missing/],
];

it("to an assistant's guesses the compiler says what to do", () => {
  const messages = messagesOf(GUESSES.map(([guess]) => guess));
  for (const [index, [guess, expected]] of GUESSES.entries()) {
    const [message = "", ...more] = messages[index] ?? [];
    expect(message, guess).toMatch(expected);
    expect(message.split("\n").length, guess).toBeLessThanOrEqual(5);
    expect(more, guess).toEqual([]);
  }
});

it("to a queue without its tables the compiler says what to do, below what it says of limits", () => {
  const [[message = "", ...more] = []] = messagesOf([
    `void enqueueRateLimited(noQueueMutation, { name: "waiting" }, work);`,
  ]);
  expect(message).toMatch(
    /Types of parameters 'tableName' and 'spreadRateLimitQueueTablesIntoTheSchema' are incompatible/,
  );
  expect(more).toEqual([]);
});

describe("with exactOptionalPropertyTypes", () => {
  it("what may be left out may be undefined, and a field of a config may not", () => {
    const leftOut = `
      declare const count: number | undefined;
      declare const flag: boolean | undefined;
      declare const key: string | undefined;
      declare const config: RateLimitConfig | undefined;
      void limits.rateLimit(mutation, { name: "send", key: "a", count, reserve: flag, throws: flag, config });
      void limits.checkRateLimit(query, { name: "signUp", key: undefined, count, reserve: flag, throws: flag, config });
      void limits.rateLimitAll(mutation, [{ name: "signUp", count, reserve: flag, config }], { throws: flag });
      void limits.resetRateLimit(mutation, { name: "signUp", config });
      void rateLimitAdmin(limits).listRateLimits(query, { name: "send", cursor: key, limit: count, onlyLimited: flag });
      void limits.rateLimit(mutation, { name: "mine", key, config: { kind: "token bucket", rate: 1, period: 1 } });
      defineRateLimits({}, { errorKeys: flag });
    `;
    const undefinedField = `const config: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1, maxReserved: undefined };`;
    const [fine, refused = []] = messagesOf([leftOut, undefinedField], { exactOptionalPropertyTypes: true });
    expect(fine).toEqual([]);
    expect(refused.join()).toContain("exactOptionalPropertyTypes");
    expect(messagesOf([undefinedField])).toEqual([[]]);
  });
});
