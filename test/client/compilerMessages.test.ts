// @vitest-environment node
/** What the compiler says to a mistake, and what compiles with the strictest settings: small programs, compiled in memory. */
import path from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");

const APP = `
import { defineRateLimits, MINUTE, type RateLimitConfig } from "convex-rate-limits";
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

/** Files that no program changes, parsed and bound once. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/** The compiler's messages about a program, the lines of each joined. */
function messages(program: string, extra: ts.CompilerOptions = {}): string[] {
  const file = path.join(root, "test/messages.ts");
  const { config } = ts.readConfigFile(path.join(root, "tsconfig.json"), (name) => ts.sys.readFile(name)) as {
    config: unknown;
  };
  const options = { ...ts.parseJsonConfigFileContent(config, ts.sys, root).options, noUnusedLocals: false, ...extra };
  const host = ts.createCompilerHost(options);
  const text = `${APP}${program}\nexport {};\n`;
  const ownHost: ts.CompilerHost = {
    ...host,
    fileExists: (name) => name === file || host.fileExists(name),
    getSourceFile: (name, version, ...rest) => {
      if (name === file) return ts.createSourceFile(name, text, version, true);
      if (!parsed.has(name)) parsed.set(name, host.getSourceFile(name, version, ...rest));
      return parsed.get(name);
    },
  };
  const compiled = ts.createProgram([file], options, ownHost);
  const source = compiled.getSourceFile(file);
  return [...compiled.getSyntacticDiagnostics(source), ...compiled.getSemanticDiagnostics(source)].map(
    ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"),
  );
}

describe("the compiler says", () => {
  it("that a misspelt name is not one of the limits", () => {
    for (const call of [
      `void limits.rateLimit(mutation, { name: "sned", key: "a" });`,
      `void limits.checkRateLimit(query, { name: "sned", key: "a" });`,
      `void limits.rateLimitAll(mutation, [{ name: "signUp" }, { name: "sned", key: "a" }]);`,
      `void limits.adjustRateLimit(mutation, { name: "sned", key: "a", count: 5 });`,
      `void limits.resetRateLimit(mutation, { name: "sned", key: "a" });`,
    ]) {
      const [message, ...more] = messages(call);
      expect(message, call).toMatch(/name: "sned"[^]*required in type 'NotOneOfYourLimits'/);
      expect(more).toEqual([]);
    }
  });

  it("in its first line that the schema lacks the table", () => {
    for (const [call, ctx] of [
      [`void limits.rateLimit(bareMutation, { name: "signUp" });`, "MutationCtxWithRateLimitTables"],
      [`void limits.checkRateLimit(bareQuery, { name: "signUp" });`, "QueryCtxWithRateLimitTables"],
      [`void limits.rateLimitAll(bareMutation, [{ name: "signUp" }]);`, "MutationCtxWithRateLimitTables"],
      [`void limits.getRateLimit(bareQuery, { name: "signUp" });`, "QueryCtxWithRateLimitTables"],
    ] as const) {
      const [message = "", ...more] = messages(call);
      expect(message.split("\n")[0], call).toMatch(new RegExp(`^Argument of type .* type '${ctx}'\\.$`));
      expect(more).toEqual([]);
    }
  });

  it("which argument is missing or unknown", () => {
    expect(messages(`void limits.rateLimit(mutation, { name: "send" });`).join()).toMatch(/'key' is missing/);
    expect(messages(`void limits.rateLimit(mutation, { name: "signUp", cuont: 1 });`).join()).toMatch(
      /'cuont' does not exist/,
    );
  });
});

describe("with exactOptionalPropertyTypes", () => {
  const compile = (program: string) => messages(program, { exactOptionalPropertyTypes: true });

  it("what may be left out may be undefined", () => {
    const program = `
      declare const count: number | undefined;
      declare const flag: boolean | undefined;
      declare const key: string | undefined;
      declare const config: RateLimitConfig | undefined;
      void limits.rateLimit(mutation, { name: "send", key: "a", count, reserve: flag, throws: flag, config });
      void limits.checkRateLimit(query, { name: "signUp", key: undefined, count, reserve: flag, throws: flag, config });
      void limits.rateLimitAll(mutation, [{ name: "signUp", count, reserve: flag, config }], { throws: flag });
      void limits.resetRateLimit(mutation, { name: "signUp", config });
      void limits.listRateLimits(query, { name: "send", cursor: key, limit: count, onlyLimited: flag });
      void limits.rateLimit(mutation, { name: "mine", key, config: { kind: "token bucket", rate: 1, period: 1 } });
      defineRateLimits({}, { errorKeys: flag });
    `;
    expect(compile(program)).toEqual([]);
  });

  it("the settings are on: a field of a config may not be undefined", () => {
    const program = `const config: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1, maxReserved: undefined };`;
    expect(messages(program)).toEqual([]);
    expect(compile(program).join()).toContain("exactOptionalPropertyTypes");
  });
});
