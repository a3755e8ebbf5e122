/** The documents of this repository as pages: their list, their HTML and their links. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import MarkdownIt from "markdown-it";
import { codeBlock, markLists, textOf, useBlocks } from "./blocks.js";
import { escaped } from "./highlight.js";

export const root = path.resolve(import.meta.dirname, "../..");

/** A section of a page, for the search box. */
export interface Section {
  url: string;
  page: string;
  heading: string;
  text: string;
}

export interface DocPage {
  file: string;
  url: string;
  title: string;
  /** Its first paragraph as text, shortened. */
  summary?: string;
  html: string;
  sections: Section[];
  /** Its headings below the title, for "On this page". */
  contents: readonly { anchor: string; heading: string }[];
  /** The repository's files that it links to and that are not pages. */
  linked: string[];
}

/** The documents of the project that are not in the root. */
const READMES = ["stage/README.md", "bench/README.md", "convex/README.md", "example/README.md"];
const PICTURE = /\.(png|svg|jpg)$/;

export interface DocGroup {
  heading: string;
  files: string[];
}

/** The pages of the documentation, in the groups and in the order of its first page, which lists them all. */
export function docGroups(): DocGroup[] {
  const index = "docs/README.md";
  const groups: DocGroup[] = [{ heading: "", files: [index] }];
  for (const line of readFileSync(path.join(root, index), "utf8").split("\n")) {
    const [, heading] = /^## (.+)$/.exec(line) ?? [];
    const [, page] = /^- \[.+?\]\(([\w-]+\.md)\)/.exec(line) ?? [];
    if (heading !== undefined) groups.push({ heading, files: [] });
    if (page !== undefined) groups.at(-1)?.files.push(`docs/${page}`);
  }
  return groups.filter(({ files }) => files.length > 0);
}

export function docFiles(): string[] {
  return docGroups().flatMap(({ files }) => files);
}

export function projectFiles(): string[] {
  const inRoot = readdirSync(root).filter((file) => file.endsWith(".md"));
  inRoot.sort((a, b) => Number(b === "README.md") - Number(a === "README.md") || a.localeCompare(b));
  return [...inRoot, ...READMES].filter((file) => existsSync(path.join(root, file)));
}

export function titleOf(file: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(path.join(root, file), "utf8")) ?? [];
  return title ?? file;
}

/** Other Markdown files are shown as they are. */
const PAGE = /^(docs\/[^/]+|[^/]+|.*\/README)\.md$/;

export function urlOf(file: string): string {
  if (PAGE.test(file)) return `/${file.slice(0, -3)}.html`;
  if (PICTURE.test(file)) return `/${file}`;
  return `/source/${file === "" ? "index" : file}.html`;
}

/** The address on this site of a link in a document. */
function hrefOf(from: string, link: string, linked: Set<string>): string {
  if (/^([a-z]+:|#|\/)/.test(link)) return link;
  const [target = "", anchor] = link.split("#");
  const file = path.posix.join(path.posix.dirname(from), target).replace(/^\.?\/?$|\/$/, "");
  if (!PAGE.test(file)) linked.add(file);
  return urlOf(file) + (anchor === undefined ? "" : `#${anchor}`);
}

export function renderPage(file: string): DocPage {
  const url = urlOf(file);
  const linked = new Set<string>();
  const sections: Section[] = [];
  const contents: DocPage["contents"][number][] = [];
  const anchors = new Set<string>();
  const title = titleOf(file);
  const markdown = new MarkdownIt({ html: true });
  useBlocks(markdown, (src) => path.join(root, src));
  const tokens = markdown.parse(readFileSync(path.join(root, file), "utf8"), {});
  markLists(tokens);
  let summary: string | undefined;
  tokens.forEach((token, index) => {
    if (token.type === "paragraph_open" && token.level === 0) summary ??= shorten(textOf(tokens[index + 1]));
    if (token.type === "heading_open") {
      const heading = textOf(tokens[index + 1]);
      const anchor = anchorOf(heading, anchors);
      token.attrSet("id", anchor);
      sections.push({ url: `${url}#${anchor}`, page: title, heading, text: "" });
      if (token.tag === "h2") contents.push({ anchor, heading });
    } else if (token.type === "inline" && tokens[index - 1]?.type !== "heading_open") {
      const section = sections.at(-1);
      if (section) section.text += `${textOf(token)} `;
    }
    for (const child of [token, ...(token.children ?? [])]) {
      const link = child.attrGet("href");
      if (link !== null) child.attrSet("href", hrefOf(file, String(link), linked));
      const picture = child.attrGet("src");
      if (picture !== null) child.attrSet("src", hrefOf(file, String(picture), linked));
      if (child.type.startsWith("html_")) {
        child.content = child.content.replace(
          /\b(src|srcset|href)="([^"]+)"/g,
          (_, name: string, target: string) => `${name}="${hrefOf(file, target, linked)}"`,
        );
      }
    }
  });
  const html = markdown.renderer.render(tokens, markdown.options, {});
  return { file, url, title, html, sections, contents, linked: [...linked], ...(summary !== undefined && { summary }) };
}

/** What search engines and chats show of a page. They cut longer texts anywhere. */
const SUMMARY_LENGTH = 200;

function shorten(text: string): string {
  return text.length <= SUMMARY_LENGTH ? text : `${text.slice(0, SUMMARY_LENGTH).replace(/\W*\s\S*$/, "")} …`;
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string, taken: Set<string>): string {
  const anchor = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-");
  let unique = anchor;
  for (let copy = 1; taken.has(unique); copy++) unique = `${anchor}-${copy}`;
  taken.add(unique);
  return unique;
}

/** A file of the repository, or a folder's list, as a page. */
export function renderSource(file: string): { title: string; html: string } {
  const absolute = path.join(root, file);
  const title = file === "" ? "convex-rate-limits" : file;
  if (statSync(absolute).isDirectory()) {
    const entries = readdirSync(absolute, { withFileTypes: true })
      .filter((entry) => !HIDDEN.test(entry.name))
      .map(
        (entry) =>
          `<li><a href="${urlOf(path.posix.join(file, entry.name))}">${escaped(entry.name)}${entry.isDirectory() ? "/" : ""}</a></li>`,
      );
    return { title, html: `<h1>${escaped(title)}</h1><ul>${entries.join("")}</ul>` };
  }
  const text = readFileSync(absolute, "utf8").trimEnd();
  // Sources have no colours: to colour all files of the repository would take longer than the rest of the build.
  return {
    title,
    html: `<h1>${escaped(title)}</h1>${codeBlock(escaped(text))}`,
  };
}

/** Names of files that are not text, or that a program has made. They have no pages. */
export const HIDDEN = /^(node_modules|dist|coverage|\.git|\.env.*|package-lock\.json|.*\.(woff2|tgz|tsbuildinfo))$/;
