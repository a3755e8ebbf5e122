import { existsSync, statSync } from "node:fs";
import path from "node:path";
import rateLimits from "convex-rate-limits/eslint";
import { Linter } from "eslint";
import { parser } from "typescript-eslint";
import { describe, expect, it } from "vitest";
import { movedApp } from "../docs/pages.js";
import { appsIn, withGenerated } from "./apps.js";
import { allBlocks, type Block } from "./blocks.js";
import { faultsIn } from "./compile.js";
import { entryPoints, lines, manifest, markdown, read, root } from "./files.js";
import { anchorsOf, linksIn, withoutFences } from "./links.js";

const blocks = allBlocks();
const INDEX = "docs/README.md";
const pages = markdown.filter((file) => /^docs\/[^/]+\.md$/.test(file) && file !== INDEX);

/** Pages whose blocks continue the app of another page. */
const CONTINUED: Readonly<Record<string, string>> = {
  "docs/testing.md": "docs/start.md",
};

/** The file of docs/start.md that says who calls. A page whose blocks import it need not repeat it. */
const CALLER = "// convex/caller.ts\n";
const importsCaller = ({ code }: Block) => code.includes('from "./caller"');
const isCaller = ({ source, code }: Block) => source === "docs/start.md" && code.startsWith(CALLER);

describe("a block of code", () => {
  it("names its language", () => {
    const languages = new Set(["ts", "tsx", "svelte", "sh", "json", "text", "http"]);
    const odd = blocks.filter(({ language }) => !languages.has(language));
    expect(odd.map(({ source, line, language }) => `${source}:${line} ${language}`)).toEqual([]);
  });

  // The compiler takes 2 s on an idle machine, and several times as long on a busy one that also counts coverage.
  it("compiles if it is TypeScript, together with the other blocks of its document", { timeout: 300_000 }, () => {
    const typescript = blocks.filter(({ language }) => /^tsx?$/.test(language));
    // test/assistants compiles its solutions, each as an app of its own.
    const isSolution = (source: string) => source.startsWith("test/assistants/");
    const documents = [...new Set(typescript.map(({ source }) => source))].filter((source) => !isSolution(source));
    const needed = ["README.md", "docs/start.md", "docs/migrating.md", "src/client/tables.ts", "src/storage/schema.ts"];
    expect(documents).toEqual(expect.arrayContaining(needed));
    const apps = documents.flatMap((document) => {
      const sources = [CONTINUED[document], document];
      const own = sources.flatMap((page) => typescript.filter(({ source }) => source === page));
      const needsCaller = own.some(importsCaller) && !own.some(({ code }) => code.startsWith(CALLER));
      return appsIn(needsCaller ? [...typescript.filter(isCaller), ...own] : own);
    });
    const moved = new Map([...movedApp()].map(([file, text]) => [file, { text, block: undefined }]));
    expect(faultsIn([...apps, withGenerated(moved)])).toEqual([]);
  });

  it("passes the package's lint rule, as docs/pitfalls.md sets it up", () => {
    const config = { files: ["**/*.ts"], languageOptions: { parser }, ...rateLimits.configs.recommended };
    const found = blocks
      .filter(({ source, language }) => language === "ts" && !source.startsWith("test/"))
      .flatMap(({ source, line, code }) =>
        new Linter().verify(code, config, "block.ts").map((fault) => `${source}:${line + fault.line} ${fault.message}`),
      );
    expect(found).toEqual([]);
  });
});

it("a document links to files and headings that exist", () => {
  const broken = markdown.flatMap((file) =>
    linksIn(read(file))
      .filter((link) => !/^(https?:|mailto:)/.test(link))
      .filter((link) => !resolves(file, link))
      .map((link) => `${file} → ${link}`),
  );
  expect(broken).toEqual([]);
});

it("each promise of SECURITY.md names a test that exists", () => {
  const promises = read("SECURITY.md")
    .split("\n")
    .filter((line) => /^\| .*\]\(test\//.test(line));
  expect(promises.length).toBeGreaterThan(10);
  const links = promises.flatMap((line) => [...line.matchAll(/\[([^\]]+)\]\((test\/[\w/.]+)\)/g)]);
  const missing = links.filter(([, title = "", file = ""]) => !read(file).includes(title));
  expect(missing.map(([link]) => link)).toEqual([]);
});

it("a document names only npm scripts that exist", () => {
  const unknown = markdown.flatMap((file) =>
    [...read(file).matchAll(/npm run ([\w:]+)/g)]
      .filter(([, script]) => !Object.hasOwn(manifest.scripts, script ?? ""))
      .map(([command]) => `${file}: ${command}`),
  );
  expect(unknown).toEqual([]);
});

it("a document is read in a few minutes: a page of the docs has at most 1,000 words besides its code", () => {
  const long = pages
    .map((file) => `${file} ${wordsIn(read(file))}`)
    .filter((page) => Number(page.split(" ")[1]) > 1000);
  expect(long).toEqual([]);
});

it("all pages of the docs together have at most 20,000 words besides their code, and are at most 22", () => {
  const words = pages.map((file) => wordsIn(read(file)));
  expect(words.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(20_000);
  expect(pages.length).toBeLessThanOrEqual(22);
});

/** Collections of cases, moves, mistakes or laws: readers look one up, so nothing is kept for the end. All other pages end in "Details". */
const COLLECTIONS = ["benchmarks", "comparison", "guarantees", "http-recipes", "pitfalls", "recipes"];

it("a page ends with the section Details, if it is not a collection", () => {
  const without = pages.filter(
    (file) =>
      read(file)
        .match(/^## .+$/gm)
        ?.at(-1) !== "## Details",
  );
  expect(without).toEqual(COLLECTIONS.map((page) => `docs/${page}.md`));
});

/** Schema and limits of an app take about 30 lines. */
const MOST_LINES_BEFORE_TASK = 40;

it("a page comes to its first task before it shows much code", () => {
  const late = pages.filter((file) => {
    const [opening = ""] = read(file).split(/^## /m);
    const code = (opening.match(/^```[^]*?^```/gm) ?? []).join("\n");
    return code.split("\n").length > MOST_LINES_BEFORE_TASK;
  });
  expect(late).toEqual([]);
});

it("only docs/start.md says who calls: the other pages import its callerOf", () => {
  const repeats = blocks
    .filter(({ source, language }) => (source === "README.md" || pages.includes(source)) && /^tsx?$/.test(language))
    .filter(({ source, code }) => source !== "docs/start.md" && /function callerOf|identity\??\.subject/.test(code));
  expect(repeats.map(({ source, line }) => `${source}:${line}`)).toEqual([]);
});

it("a document has a title, and an answer before its first heading or block", () => {
  const without = pages.filter((file) => !/^# [^\n]+\n\n(?!```|[#|<-])[^\n]+/.test(read(file)));
  expect(without).toEqual([]);
});

it("wordsIn counts the words of prose and tables, not those of code", () => {
  expect(wordsIn("# A title\n\n```ts\nconst one = 1;\n```\n\n| one | two |\n| --- | --- |\n| `a b` | - |\n")).toBe(6);
});

it("the README or the docs name every value that an entry exports", async () => {
  const files = [...new Set(entryPoints.values())].filter((file) => file.startsWith("src/"));
  const entries = await Promise.all(files.map((file) => import(path.join(root, file)) as Promise<object>));
  expect(entries.length).toBeGreaterThan(7);
  const text = ["README.md", ...pages].map(read).join("\n");
  const names = entries.flatMap((entry) => Object.keys(entry)).filter((name) => name !== "default");
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
});

it("the component's README lists every registered function", () => {
  const table = read("convex/README.md")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  const named = table.flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const registered = ["public", "queue", "snapshots", "sweep", "upkeep", "worker"].flatMap((file) =>
    [...read(`convex/${file}.ts`).matchAll(/^export const (?:(\w+)|\{([^}]+)\}) =/gm)].flatMap(([, one, several]) =>
      (one ?? several ?? "").split(",").map((name) => name.trim()),
    ),
  );
  expect(named.toSorted()).toEqual(registered.toSorted());
});

it("the README shows the two commands in its first 50 lines, and links to the list of all pages", () => {
  const firstScreen = lines("README.md").slice(0, 50).join("\n");
  expect(firstScreen).toContain("npm ci && npm start");
  expect(firstScreen).toContain("npm ci && npm test");
  expect(linksIn(read("README.md"))).toContain(INDEX);
});

it("the list of the docs names every page once", () => {
  const listed = read(INDEX)
    .split("\n")
    .flatMap((line) => /^- \[.+?\]\(([\w-]+\.md)\): \S/.exec(line)?.[1] ?? [])
    .map((page) => `docs/${page}`);
  expect(listed.toSorted()).toEqual(pages.toSorted());
});

it("ARCHITECTURE.md has at most 120 lines", () => {
  expect(lines("ARCHITECTURE.md").length).toBeLessThanOrEqual(120);
});

/** The number of words that a reader reads: without code blocks and the rules of tables. */
function wordsIn(page: string): number {
  return withoutFences(page)
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

function resolves(from: string, link: string): boolean {
  const [target = "", anchor] = link.split("#");
  const file = target === "" ? from : path.posix.join(path.posix.dirname(from), target);
  if (!existsSync(path.join(root, file))) return false;
  if (anchor === undefined) return true;
  return statSync(path.join(root, file)).isFile() && anchorsOf(read(file)).has(anchor);
}
