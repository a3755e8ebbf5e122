/** What assistants read. llms.txt and llms-full.txt, for users' assistants, are made from the documents; AGENTS.md is for ours. */
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { documents } from "../../scripts/assistants/documents.js";
import { compile } from "./compile.js";
import { entryPoints, lines, markdown, read } from "./files.js";
import { linksIn } from "./links.js";
import { walk } from "./program.js";

const made = documents();
const full = made["llms-full.txt"];
const pages = markdown.filter((file) => /^docs\/[^/]+\.md$/.test(file) && file !== "docs/README.md");

it.each(["llms.txt", "llms-full.txt"] as const)("%s is made of the current documents (npm run assistants)", (name) => {
  expect(read(name)).toBe(made[name]);
});

it("llms.txt lists llms-full.txt and every page of the docs", () => {
  expect(linksIn(made["llms.txt"])).toEqual(expect.arrayContaining(["llms-full.txt", ...pages]));
});

it("the package contains llms.txt and llms-full.txt, and not AGENTS.md", () => {
  const { files } = JSON.parse(read("package.json")) as { files: string[] };
  expect(files).toEqual(expect.arrayContaining(["llms.txt", "llms-full.txt"]));
  expect(files).not.toContain("AGENTS.md");
});

it("AGENTS.md has at most 60 lines", () => {
  expect(lines("AGENTS.md").length).toBeLessThanOrEqual(60);
});

describe("llms-full.txt", () => {
  it("has code in each part, except those that list fields and mistakes", () => {
    const parts = full.split(/^## /m).slice(1);
    const without = parts.filter((part) => !part.includes("```ts")).map((part) => part.split("\n")[0]);
    expect(without).toEqual(["Fields of a limit", "Options of limitHttp", "Pitfalls"]);
  });

  it("begins with the functions", () => {
    expect(/^## (.+)/m.exec(full)?.[1]).toBe("Functions");
  });

  // The compiler takes a few seconds on a busy machine.
  it("has every exported value, and what these return, with its arguments", { timeout: 300_000 }, () => {
    const signatures = signaturesIn(CALLS);
    expect(signatures.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["limitHttp", "rateLimit", "vSweepResult"]),
    );
    expect(signatures.length).toBeGreaterThan(100);
    expect(signatures.filter((signature) => !isListed(signature, full)).map(written)).toEqual([]);
  });

  it.each([
    ["a function that no row names", "| `rateLimit` | `{ name, key? }` |", false],
    ["an argument that its row leaves out", "| `hashKey` | `{ name }` |", false],
    ["an argument of another function's row", "| `hashKey` | |\n| `other` | `text` |", false],
    ["a name and an argument in prose", "`hashKey` takes `text`.", false],
    ["a row with both", "| `hashKey`, `other` | `text` |", true],
    ["a row that calls it", "| `hashKey({ text? })` | a key |", true],
  ])("%s", (_, table, isFound) => {
    expect(isListed({ name: "hashKey", args: ["text"] }, table)).toBe(isFound);
  });
});

/** A value that users call, and the names of its arguments: of those that are objects, the names of their fields. */
interface Signature {
  readonly name: string;
  /** Undefined for a value that is not called. */
  readonly args: readonly string[] | undefined;
}

const written = ({ name, args }: Signature) => (args ? `${name}(${args.join(", ")})` : name);

/** Whether rows of tables that name the function in their first cell have all its arguments in code. A value may be named anywhere. */
function isListed({ name, args }: Signature, text: string): boolean {
  if (!args) return text.includes(`\`${name}\``);
  const rows = text.split("\n").filter((row) => {
    const names = [...(row.split("|")[1] ?? "").matchAll(/`(\w+)/g)].map(([, word]) => word);
    return row.startsWith("|") && names.includes(name);
  });
  const words = new Set((rows.join("").match(/`[^`]+`/g) ?? []).flatMap((code) => code.match(/\w+/g) ?? []));
  return rows.length > 0 && args.every((arg) => words.has(arg));
}

/** Calls whose arguments depend on the limits that are defined. Each is written with few arguments: the types have all of them. */
const CALLS = `
import { defineRateLimits } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { rateLimitJobs } from "convex-rate-limits/jobs";
import { rateLimitLive } from "convex-rate-limits/live";
import { rateLimitQueue } from "convex-rate-limits/queue";
const a = { kind: "token bucket", rate: 1, period: 1, queue: { fair: true } } as const;
const limits = defineRateLimits({ a, b: { ...a, plans: { free: { rate: 2 } } } });
declare const ctx: any, fn: any, job: any;
void [limits.rateLimit(ctx, { name: "a", throws: true }), limits.rateLimit(ctx, { name: "b", plan: "free" })];
void [limits.checkRateLimit(ctx, { name: "a" }), limits.rateLimitAll(ctx, [{ name: "a" }], { throws: true })];
void [limits.checkRateLimitAll(ctx, [{ name: "a" }], {}), limits.adjustRateLimit(ctx, { name: "a", count: 1 })];
void [limits.pauseRateLimit(ctx, { name: "a", until: 1 }), limits.resetRateLimit(ctx, { name: "a" })];
const jobs = rateLimitJobs(limits);
void [jobs.scheduleRateLimited(ctx, { name: "a", throws: true }, fn), jobs.cancelRateLimited(ctx, job), jobs.releaseRateLimit(ctx, fn)];
const queue = rateLimitQueue(limits);
void [queue.enqueueRateLimited(ctx, { name: "a", fairBy: "b", throws: true }, fn), queue.cancelQueued(ctx, job)];
void [queue.getQueued(ctx, job), queue.exposeQueue({ job }), queue.exposeQueueWorker()];
const live = rateLimitLive(limits);
void [live.getRateLimit(ctx, { name: "a" }), live.exposeRateLimit("a", {})];
const admin = rateLimitAdmin(limits);
void [admin.overrideRateLimit(ctx, { name: "a", block: true }), admin.clearRateLimitOverride(ctx, { name: "a" })];
void [admin.listRateLimits(ctx, { name: "a" }), admin.sweepRateLimits(ctx, { next: fn })];
`;

/** The parameters that are objects of named arguments, whose fields users write. */
const OBJECTS = /^(args|bounds|options)$/;
/** Options that have tables of their own: each is the first word of a row. */
const TABLED = "limitHttp";

/** What the entries export, and the functions that some code calls. */
function signaturesIn(calls: string): Signature[] {
  const entries = [...entryPoints].filter(([, file]) => file.startsWith("src/")).map(([name]) => name.slice(1));
  const text = [...entries.map((entry, i) => `import * as entry${i} from "convex-rate-limits${entry}";`), calls];
  const { program } = compile([new Map([["convex/calls.ts", { text: text.join("\n"), block: undefined }]])]);
  const checker = program.getTypeChecker();
  const found: Signature[] = [];

  const add = (name: string, signature: ts.Signature | undefined) => {
    const args = signature?.parameters.flatMap((parameter) => namesOf(parameter)).filter((arg) => arg !== "ctx");
    if (name === TABLED) found.push(...optionsOf(signature?.parameters[1]));
    found.push({ name, args });
  };
  const namesOf = (parameter: ts.Symbol): string[] => {
    const declaration = parameter.valueDeclaration as ts.ParameterDeclaration;
    const isObject = !ts.isIdentifier(declaration.name) || OBJECTS.test(parameter.name);
    const isTabled = ts.isFunctionDeclaration(declaration.parent) && declaration.parent.name?.text === TABLED;
    return isObject && !isTabled ? fieldsOf(checker.getTypeOfSymbol(parameter)) : [parameter.name];
  };
  const optionsOf = (parameter: ts.Symbol | undefined) =>
    parameter ? fieldsOf(checker.getTypeOfSymbol(parameter)).map((name) => ({ name, args: [] })) : [];
  const fieldsOf = (type: ts.Type): string[] => {
    const given = checker.getNonNullableType(type);
    if (given.isUnion()) return [...new Set(given.types.flatMap(fieldsOf))];
    if (checker.isArrayLikeType(given)) return checker.getTypeArguments(given as ts.TypeReference).flatMap(fieldsOf);
    if (!(given.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return [];
    const isPermitted = (field: ts.Symbol) => {
      const { flags } = checker.getNonNullableType(checker.getTypeOfSymbol(field));
      return (flags & ts.TypeFlags.Never) === 0;
    };
    return checker
      .getPropertiesOfType(given)
      .filter(isPermitted)
      .map(({ name }) => name);
  };

  for (const file of program.getSourceFiles().filter(({ fileName }) => fileName.endsWith("convex/calls.ts"))) {
    walk(file, (node) => {
      if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
        add(node.expression.name.text, checker.getResolvedSignature(node));
      }
      // A set of functions: those that the code does not call must be added to it.
      if (ts.isVariableDeclaration(node) && node.initializer && ts.isCallExpression(node.initializer)) {
        const names = checker.getPropertiesOfType(checker.getTypeAtLocation(node)).map(({ name }) => name);
        const uncalled = names.filter((name) => !name.startsWith("__@") && !calls.includes(`.${name}(`));
        found.push(...uncalled.map((name) => ({ name: `CALLS lacks ${name}`, args: [] })));
      }
      const module = ts.isNamespaceImport(node) && checker.getSymbolAtLocation(node.name);
      if (!module) return;
      for (const exported of checker.getExportsOfModule(checker.getAliasedSymbol(module))) {
        const target = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
        if (!(target.flags & ts.SymbolFlags.Value) || exported.name === "default") continue;
        const type = checker.getTypeOfSymbol(target);
        add(exported.name, type.getCallSignatures()[0] ?? type.getConstructSignatures()[0]);
      }
    });
  }
  return found;
}
