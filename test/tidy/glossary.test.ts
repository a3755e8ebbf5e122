/** One word, one meaning, in plain technical English: the names of types, values and functions in src/ use the words of the glossary in ARCHITECTURE.md. */
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { files, lines, read } from "./files.js";
import { openProgram, pathOf, walk } from "./program.js";

/** Words that are common in programs and need no entry in the glossary. */
const PLAIN =
  "arg args bound range option ctx result data field reader writer row id list name model definition choice source error type validator found";

/** Words that types must not use: the glossary has others for them, or they have no clear meaning. */
const BANNED_IN_TYPES = ["home", "part", "node", "leaf", "probe", "dice", "wish"];
/** Participles, adverbs and other words that must not name values, because they do not say what the value is. */
const BANNED = ["told", "standing", "leaving", "even", "seen", "concluded", "home", "leaf", "probe", "dice", "wish"];
const BANNED_ALLOWED: Readonly<Record<string, string>> = {
  seen: "a field of rows: the count of the control row that they have applied",
  seenTo: "a field of rows and of scheduled runs, which outlive a deploy",
};

/** Names that use one word of the glossary for a type of another word, each with its reason. */
const OTHER_TYPE: Readonly<Record<string, string>> = {
  "bucket: Request": "a request is a bucket and what is asked of it",
  "share: Limit": "of a limit, a share is a limit",
  "table: Place": "the app's tables are a place",
  "window: Calendar": "a calendar is where windows begin",
  "limit: LimitedBy": "a limit that was applied to the request",
};

/** Names that two files export, each with its reason. src/compat is not checked: its names are the official component's. */
const EXPORTED_TWICE: Readonly<Record<string, string>> = {
  defineRateLimits: "the entries of the two places have the same names",
  Demand: "a client's is in tokens, as callers know them; the engine's is in units",
  rateLimitQueue: "the entries of the two places have the same names",
  END_OF_TIME: "the projection for clients imports nothing from the engine",
};
const OFFICIAL = "src/compat/";

interface Named {
  readonly file: string;
  readonly name: string;
  readonly node: ts.Node;
  readonly isExported: boolean;
}

const program = openProgram();
const checker = program.getTypeChecker();
const sources = program.getSourceFiles().filter((file) => pathOf(file).startsWith("src/"));
const named = sources.flatMap(namesIn);
const own = named.filter(({ file }) => !file.startsWith(OFFICIAL));
const types = own.filter(({ node }) => isType(node));

/** The names that a file declares: of types, functions, values, parameters and fields. */
function namesIn(source: ts.SourceFile): Named[] {
  const found: Named[] = [];
  walk(source, (node) => {
    const { name } = node as { name?: ts.Node };
    const isDeclaration = isType(node) || isValue(node) || ts.isFunctionLike(node) || ts.isPropertyAssignment(node);
    if (!isDeclaration || !name || !ts.isIdentifier(name)) return;
    const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
    const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
    const isExported = modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
    found.push({ file: pathOf(source), name: name.text, node, isExported });
  });
  return found;
}

function isType(node: ts.Node): boolean {
  return ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node);
}

/** Whether a node declares a value: a parameter, a local name or a field. */
function isValue(node: ts.Node): boolean {
  const isLocal = ts.isParameter(node) || ts.isVariableDeclaration(node) || ts.isBindingElement(node);
  return isLocal || ts.isPropertySignature(node);
}

/** The name of a value's type, or of the type of its elements, if src/ declares it. */
function typeOf(node: ts.Node): string | undefined {
  const type = checker.getNonNullableType(checker.getTypeAtLocation(node));
  const [element = type] = checker.isArrayType(type) ? checker.getTypeArguments(type as ts.TypeReference) : [];
  const symbol = element.aliasSymbol ?? (element as Partial<ts.Type>).symbol;
  const [declaration] = symbol?.declarations ?? [];
  const isOurs = declaration && isType(declaration) && pathOf(declaration.getSourceFile()).startsWith("src/");
  return isOurs ? symbol?.name : undefined;
}

/** The words of a name in the singular: "RateLimitAllStatus" → rate, limit, all, status. */
function wordsOf(name: string): string[] {
  return (name.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [name]).map((word) => singular(word.toLowerCase()));
}

function singular(word: string): string {
  if (["status", "args"].includes(word)) return word;
  return word.replace(/ies$/, "y").replace(/([^s])s$/, "$1");
}

/** The noun of a name: its last word, or the word before "of", "in", "by" or "with". */
function headOf(name: string): string {
  const words = wordsOf(name);
  const at = words.findIndex((word, i) => i > 0 && ["of", "in", "by", "with"].includes(word));
  return words.at(at < 0 ? -1 : at - 1) ?? name;
}

/** The words in the first column of the table below "## Words". */
function glossary(): Set<string> {
  const section = /## Words\n([^]*?)(\n## |$)/.exec(read("ARCHITECTURE.md"))?.[1] ?? "";
  const rows = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, words = ""]) => words.trim());
  return new Set(rows.slice(1).flatMap((words) => words.split(", ")));
}

const words = glossary();
const plain = new Set(PLAIN.split(" "));

/** "share: Limit": a name that uses one word of the glossary for a type of another word. */
function mixedIn(name: string, type: string): string[] {
  const word = headOf(name);
  return words.has(word) && words.has(headOf(type)) && !wordsOf(type).includes(word) ? [`${word}: ${type}`] : [];
}

function bannedIn(name: string, banned: readonly string[]): boolean {
  return wordsOf(name).some((word) => banned.includes(word));
}

describe("the glossary", () => {
  it("has the words of the field and of the engine", () => {
    const required =
      "limit bucket state shard interval count units demand request decision status answer reservation debt refund charge entry level call place snapshot";
    expect(required.split(" ").filter((word) => !words.has(word))).toEqual([]);
  });

  it("has the noun of every exported type of src/", () => {
    const exported = types.filter(({ isExported }) => isExported);
    expect(exported.length).toBeGreaterThan(60);
    const unknown = exported.filter(({ name }) => !words.has(headOf(name)) && !plain.has(headOf(name)));
    expect(unknown.map(({ file, name }) => `${file} ${name}: ${headOf(name)}`)).toEqual([]);
  });

  it("names parameters, locals and fields by the words of their types", () => {
    const values = own.filter(({ node }) => isValue(node));
    const typed = values.flatMap(({ file, name, node }) => ({ file, name, type: typeOf(node) }));
    expect(typed.filter(({ type }) => type !== undefined).length).toBeGreaterThan(500);
    const mixed = typed.flatMap(({ file, name, type = "" }) =>
      mixedIn(name, type).map((pair) => [file, pair] as const),
    );
    expect(mixed.filter(([, pair]) => !Object.hasOwn(OTHER_TYPE, pair))).toEqual([]);
    expect(Object.keys(OTHER_TYPE).filter((pair) => !mixed.some(([, other]) => other === pair))).toEqual([]);
  });

  it("no name contains a banned word", () => {
    const found = own.filter(({ name }) => bannedIn(name, BANNED));
    expect(new Set(found.map(({ name }) => name))).toEqual(new Set(Object.keys(BANNED_ALLOWED)));
    const bannedTypes = types.filter(({ name }) => bannedIn(name, BANNED_IN_TYPES));
    expect(bannedTypes.map(({ file, name }) => `${file} ${name}`)).toEqual([]);
    expect([...BANNED, ...BANNED_IN_TYPES].filter((word) => words.has(word))).toEqual([]);
  });

  it("no two files export the same name", () => {
    const exported = own.filter(({ isExported }) => isExported);
    const twice = exported.filter(({ file, name }) => exported.some((one) => one.name === name && one.file !== file));
    expect([...new Set(twice.map(({ name }) => name))].sort()).toEqual(Object.keys(EXPORTED_TWICE).sort());
  });
});

/** Phrases for which the field has a term, and old names of things that have been renamed. */
const BANNED_PHRASES: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\bwhoever\b/i, "callers, or the caller that …"],
  [/\bdice\b/i, "random number"],
  [/\bhome ?[AB]\b/i, "in your tables, in the component"],
  [/\b(each|either|both|other|which|of the) homes?\b/i, "place"],
  [/\bunder your hands\b/i, "that you change"],
  [/\bfound out\b/i, "read, decided, known"],
  [/\bwish(es|ed)?\b/i, "request"],
];

const checked = files.filter(
  (file) =>
    /^(src|convex|(?:stage|example)\/convex)\/.*\.tsx?$/.test(file) ||
    /^(README|ARCHITECTURE|docs\/.*)\.md$/.test(file),
);

function phrasesIn(file: string, text: readonly string[]): string[] {
  return text.flatMap((line, index) =>
    BANNED_PHRASES.filter(([phrase]) => phrase.test(line)).map(
      ([, instead]) => `${file}:${index + 1} ${line.trim()} (say: ${instead})`,
    ),
  );
}

it("comments and messages use the field's terms", () => {
  expect(checked.length).toBeGreaterThan(50);
  expect(checked.flatMap((file) => phrasesIn(file, lines(file)))).toEqual([]);
});

it("comments and messages are checked for every banned phrase", () => {
  const wrong = ["Whoever", "the dice", "home A", "both homes", "under your hands", "found out", "a wish for a key"];
  expect(wrong.map((text) => phrasesIn("a.ts", [text]).length)).toEqual(wrong.map(() => 1));
  expect(phrasesIn("a.ts", ["the request of a client, in your tables"])).toEqual([]);
});
