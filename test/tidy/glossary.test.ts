/** One word, one meaning: what the types of src/ are called is in the glossary of ARCHITECTURE.md. */
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { files, read } from "./files.js";

/** Words that any program has, and every reader knows. */
const PLAIN =
  "arg args bound option ctx result data field reader writer row id list name model definition choice source error type validator".split(
    " ",
  );

/** What these are called is said by another word of the glossary, or by none. */
const BANNED = ["home", "part", "node", "leaf", "probe", "dice", "wish"];

/** The names of src/compat are the official component's, or come with them. */
const OFFICIAL = "src/compat/";

interface Named {
  readonly where: string;
  readonly name: string;
  readonly isExported: boolean;
}

const types = files
  .filter((file) => /^src\/.*\.tsx?$/.test(file) && !file.startsWith(OFFICIAL))
  .flatMap((file) => typesIn(file, read(file)));

function typesIn(file: string, text: string): Named[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    const isType =
      ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement) || ts.isClassDeclaration(statement);
    if (!isType || !statement.name) return [];
    const isExported = (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    return [{ where: file, name: statement.name.text, isExported }];
  });
}

/** The words of a name: "RateLimitAllStatus" → rate, limit, all, status. */
function wordsOf(name: string): string[] {
  return (name.match(/[A-Z][a-z]*/g) ?? [name]).map((word) => word.toLowerCase());
}

/** What a name says the thing is: its last word, or the one before "of", "in", "by" or "with"; in the singular. */
function headOf(name: string): string {
  const words = wordsOf(name);
  const at = words.findIndex((word, i) => i > 0 && ["of", "in", "by", "with"].includes(word));
  const head = words[at < 0 ? words.length - 1 : at - 1] ?? name;
  return singular(head);
}

function singular(word: string): string {
  if (["status", "args"].includes(word)) return word;
  return word.replace(/ies$/, "y").replace(/([^s])s$/, "$1");
}

/** The first column of the table below "## Words". */
function glossary(): Set<string> {
  const section = /## Words\n([^]*?)(\n## |$)/.exec(read("ARCHITECTURE.md"))?.[1] ?? "";
  const rows = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, words = ""]) => words.trim());
  return new Set(rows.slice(1).flatMap((words) => words.split(", ")));
}

const words = glossary();

describe("the glossary", () => {
  it("has the words of the field and of the engine", () => {
    const required =
      "limit bucket state shard interval count units demand request decision status answer reservation debt refund charge entry level call place snapshot";
    expect(required.split(" ").filter((word) => !words.has(word))).toEqual([]);
  });

  it("has what every exported type of src/ is", () => {
    const exported = types.filter(({ isExported }) => isExported);
    expect(exported.length).toBeGreaterThan(60);
    const unknown = exported
      .filter(({ name }) => !words.has(headOf(name)) && !PLAIN.includes(headOf(name)))
      .map(({ where, name }) => `${where} ${name}: ${headOf(name)}`);
    expect(unknown).toEqual([]);
  });

  it("no type is called by a word that is banned", () => {
    const banned = types.filter(({ name }) => wordsOf(name).some((word) => BANNED.includes(singular(word))));
    expect(banned.map(({ where, name }) => `${where} ${name}`)).toEqual([]);
    expect(BANNED.filter((word) => words.has(word))).toEqual([]);
  });

  it("finds the head of a name", () => {
    const heads = [
      "RateLimitAllStatus",
      "StatusOf",
      "NameIn",
      "BucketArgs",
      "StoredEntry",
      "Levels",
      "MutationCtxWithTables",
    ];
    expect(heads.map(headOf)).toEqual(["status", "status", "name", "args", "entry", "level", "ctx"]);
    expect(typesIn("a.ts", "export interface LeafNode {}\ntype Wish = 1;").map(({ isExported }) => isExported)).toEqual(
      [true, false],
    );
  });
});
