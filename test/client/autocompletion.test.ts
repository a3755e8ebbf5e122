// @vitest-environment node
/** What an editor offers, asked of TypeScript's own language service. */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = new URL("..", import.meta.url).pathname;
const source = `
import { rateLimitTables, defineRateLimits, MINUTE } from "convex-rate-limits";
import { defineSchema, type DataModelFromSchemaDefinition, type GenericMutationCtx } from "convex/server";
const schema = defineSchema({ ...rateLimitTables });
declare const ctx: GenericMutationCtx<DataModelFromSchemaDefinition<typeof schema>>;
const { rateLimit } = defineRateLimits({
  send: { kind: "token bucket", rate: 10, period: MINUTE, keyed: true },
  signUp: { kind: "fixed window", rate: 10, period: MINUTE },
});
void rateLimit(ctx, { name: "/*name*/" });
void rateLimit(ctx, { name: "send", /*args*/ });
defineRateLimits({ a: { kind: "/*kind*/" } });
defineRateLimits({ a: { kind: "fixed window", /*window*/ } });
defineRateLimits({ a: { kind: "token bucket", /*bucket*/ } });
`;

const offered = completer("test/editor.ts", source);

describe("an editor offers", () => {
  it("the names of the defined limits", () => {
    expect(offered("name")).toEqual(["send", "signUp"]);
  });

  it("the arguments of a call", () => {
    expect(offered("args")).toEqual(["config", "count", "key", "reserve", "throws"]);
  });

  it("the kinds", () => {
    expect(offered("kind")).toEqual(["fixed window", "token bucket"]);
  });

  it("the fields of each kind, a start only for windows", () => {
    const shared = ["capacity", "keyed", "maxReserved", "period", "rate", "shards"];
    expect(offered("window")).toEqual([...shared, "start"]);
    expect(offered("bucket")).toEqual(shared);
  });
});

/** Answers what is offered at a comment in a file that exists in memory only. */
function completer(file: string, text: string): (mark: string) => string[] {
  const path = root + file;
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, (name) => ts.sys.readFile(name)) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const service = ts.createLanguageService({
    ...ts.sys,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    fileExists: (name) => name === path || ts.sys.fileExists(name),
    readFile: (name) => (name === path ? text : ts.sys.readFile(name)),
    getCompilationSettings: () => options,
    getCurrentDirectory: () => dirname(path),
    getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
    getScriptFileNames: () => [path],
    getScriptVersion: () => "1",
    getScriptSnapshot: (name) => {
      if (name === path) return ts.ScriptSnapshot.fromString(text);
      return ts.sys.fileExists(name) ? ts.ScriptSnapshot.fromString(readFileSync(name, "utf8")) : undefined;
    },
  });
  return (mark) => {
    const entries = service.getCompletionsAtPosition(path, text.indexOf(`/*${mark}*/`), {})?.entries ?? [];
    // What is being typed is offered back.
    return entries
      .map(({ name }) => name)
      .filter((name) => name !== `/*${mark}*/`)
      .sort();
  };
}
