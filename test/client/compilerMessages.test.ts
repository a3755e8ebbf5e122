/** What the compiler says to a mistake, and what compiles with the strictest settings: small programs, compiled in memory. */
import path from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");

const APP = `
import { defineRateLimits, MINUTE, type RateLimitConfig } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { rateLimitTables } from "convex-rate-limits/schema";
import { defineSchema, type DataModelFromSchemaDefinition, type GenericActionCtx, type GenericMutationCtx, type GenericQueryCtx } from "convex/server";
const schema = defineSchema({ ...rateLimitTables });
const bare = defineSchema({});
type App = DataModelFromSchemaDefinition<typeof schema>;
type Bare = DataModelFromSchemaDefinition<typeof bare>;
declare const mutation: GenericMutationCtx<App>;
declare const query: GenericQueryCtx<App>;
declare const bareMutation: GenericMutationCtx<Bare>;
declare const bareQuery: GenericQueryCtx<Bare>;
const limits = defineRateLimits({
  send: { kind: "token bucket", rate: 10, period: MINUTE, keyed: true },
  signUp: { kind: "fixed window", rate: 100, period: MINUTE, keyed: false },
});
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

describe("the compiler says", () => {
  it("that a misspelt name is not one of the limits", () => {
    const calls = [
      `void limits.rateLimit(mutation, { name: "sned", key: "a" });`,
      `void limits.checkRateLimit(query, { name: "sned", key: "a" });`,
      `void limits.rateLimitAll(mutation, [{ name: "signUp" }, { name: "sned", key: "a" }]);`,
      `void limits.adjustRateLimit(mutation, { name: "sned", key: "a", count: 5 });`,
      `void limits.resetRateLimit(mutation, { name: "sned", key: "a" });`,
    ];
    for (const [index, [message, ...more]] of messagesOf(calls).entries()) {
      expect(message, calls[index]).toMatch(/name: "sned"[^]*required in type 'NotOneOfYourLimits'/);
      expect(more).toEqual([]);
    }
  });

  it("in its first line that the schema lacks the table", () => {
    const calls = [
      [`void limits.rateLimit(bareMutation, { name: "signUp" });`, "MutationCtxWithRateLimitTables"],
      [`void limits.checkRateLimit(bareQuery, { name: "signUp" });`, "QueryCtxWithRateLimitTables"],
      [`void limits.rateLimitAll(bareMutation, [{ name: "signUp" }]);`, "MutationCtxWithRateLimitTables"],
      [`void limits.getRateLimit(bareQuery, { name: "signUp" });`, "QueryCtxWithRateLimitTables"],
    ] as const;
    const messages = messagesOf(calls.map(([call]) => call));
    for (const [index, [call, ctx]] of calls.entries()) {
      const [message = "", ...more] = messages[index] ?? [];
      expect(message.split("\n")[0], call).toMatch(new RegExp(`^Argument of type .* type '${ctx}'\\.$`));
      expect(more).toEqual([]);
    }
  });

  it("which argument is missing or unknown", () => {
    const [missing = [], unknown = []] = messagesOf([
      `void limits.rateLimit(mutation, { name: "send" });`,
      `void limits.rateLimit(mutation, { name: "signUp", cuont: 1 });`,
    ]);
    expect(missing.join()).toMatch(/'key' is missing/);
    expect(unknown.join()).toMatch(/'cuont' does not exist/);
  });
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
