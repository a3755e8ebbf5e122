/** `npm run site`: the documents as static files in a folder of a server, as on GitHub Pages. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildSite } from "../../stage/site/build.js";
import { deploymentOf } from "../../stage/site/deployment.js";
import { makeSearch, type Section } from "../../stage/src/search.js";

const BASE = "/some-repository/";
const folder = mkdtempSync(path.join(os.tmpdir(), "site-"));
const read = (file: string) => readFileSync(path.join(folder, file), "utf8");
let files: string[] = [];

// This builds the whole site, on a machine that may be busy.
beforeAll(async () => {
  await buildSite(folder, BASE);
  files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.posix.join(path.relative(folder, entry.parentPath), entry.name));
}, 60_000);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** The targets of a page's links and assets, except other sites and anchors within the page. */
function targetsOf(html: string): string[] {
  const tags = html.match(/<[a-z][^>]*>/g) ?? [];
  return tags
    .flatMap((tag) => [...tag.matchAll(/\b(?:href|src|srcset)="([^"#]+)/g)])
    .flatMap(([, target = ""]) => (/^[a-z]+:/.test(target) ? [] : target));
}

it("the site links only to files that exist below its folder", () => {
  const pages = files.filter((file) => file.endsWith(".html"));
  const found = new Set(pages.flatMap((page) => targetsOf(read(page))));
  expect(found.size).toBeGreaterThan(100);
  const known = new Set(["", ...files].map((file) => BASE + file));
  expect([...found].filter((target) => !known.has(target))).toEqual([]);
});

it("the site begins with the README", () => {
  expect(read("index.html")).toContain("<title>convex-rate-limits · convex-rate-limits</title>");
  expect(read("index.html")).toContain(`<a href="${BASE}playground.html">Try it</a>`);
});

describe("each page", () => {
  const count = (html: string, part: RegExp) => html.match(part)?.length ?? 0;
  const pages = () => files.filter((file) => file.endsWith(".html"));

  it("has a button that copies for each block of code", () => {
    const blocks = pages().map((page) => [
      page,
      count(read(page), /<pre\b/g),
      count(read(page), /<\/pre><button[^>]* data-copy>/g),
    ]);
    expect(blocks.filter(([, code, buttons]) => code !== buttons)).toEqual([]);
    expect(blocks.filter(([page]) => String(page).startsWith("docs/")).length).toBeGreaterThan(20);
  });

  it("has a link at each heading below its title", () => {
    const headings = pages().flatMap((page) => [...read(page).matchAll(/<h[2-6] id="([^"]+)">.*?<\/h[2-6]>/gs)]);
    expect(headings.length).toBeGreaterThan(200);
    expect(headings.filter(([html, id]) => !html.includes(` href="#${id}" aria-label=`))).toEqual([]);
  });

  it("lists all pages in the groups of the documentation's first page, and the project's documents", () => {
    const index = readFileSync("docs/README.md", "utf8");
    const groups = [...index.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    const [, list = ""] = /<nav aria-label="Documents">(.*?)<\/nav>/s.exec(read("docs/start.html")) ?? [];
    expect([...list.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, heading]) => heading)).toEqual([...groups, "Project"]);
    const [first, ...others] = list.split("<h2>");
    expect(first).toContain(`${BASE}docs/README.html`);
    for (const group of others) expect(group).toMatch(/<a href=/);
    expect(list).toContain(`href="${BASE}docs/start.html" aria-current="page"`);
  });

  it("tells other sites its title and its first paragraph", () => {
    const html = read("docs/jobs.html");
    const [, paragraph = ""] = /^# .+\n\n(.{30})/m.exec(readFileSync("docs/jobs.md", "utf8").replaceAll("`", "")) ?? [];
    const [, title = ""] = /<h1[^>]*>(.*?)<\/h1>/.exec(html) ?? [];
    expect(html).toContain(`<meta property="og:title" content="${title}" />`);
    for (const name of ['name="description"', 'property="og:description"']) {
      const [, content = ""] = new RegExp(`<meta ${name} content="([^"]*)" />`).exec(html) ?? [];
      expect(content.startsWith(paragraph), content).toBe(true);
      expect(content.length).toBeLessThan(210);
    }
  });

  it("preloads both of its fonts, which are used only if they come in time", () => {
    const fonts = files.filter((file) => file.endsWith(".woff2"));
    expect(fonts).toHaveLength(2);
    for (const font of fonts) expect(read("docs/start.html")).toMatch(new RegExp(`rel="preload"[^>]*"${BASE}${font}"`));
  });
});

it("every drawing keeps the width at which its smallest text has 11 pixels", () => {
  const html = files
    .filter((file) => file.endsWith(".html"))
    .map(read)
    .join("");
  const drawings = [...html.matchAll(/<img src="[^"]*\/(docs\/pictures\/[^"]+\.svg)"[^>]*?(?:min-width:(\d+)px)?">/g)];
  expect(drawings.length).toBeGreaterThan(5);
  for (const [, file = "", least] of drawings) {
    const svg = readFileSync(file, "utf8");
    const smallest = Math.min(...[...svg.matchAll(/([\d.]+)px/g)].map(([, size]) => Number(size)));
    const [, width] = /viewBox="0 0 ([\d.]+) /.exec(svg) ?? [];
    expect((Number(least) / Number(width)) * smallest, file).toBeGreaterThanOrEqual(11);
  }
});

it("a table of four and more columns names the column of each cell, for phones, and others do not", () => {
  const tables = files
    .filter((file) => file.endsWith(".html"))
    .flatMap((page) => read(page).match(/<table.*?<\/table>/gs) ?? []);
  const columns = (table: string) => table.match(/<th\b/g)?.length ?? 0;
  const wide = tables.filter((table) => columns(table) >= 4);
  expect(wide.length).toBeGreaterThan(5);
  for (const table of tables) expect(table.startsWith('<table class="list"')).toBe(columns(table) >= 4);
  const [head = "", ...rows] = (wide[0] ?? "").split("</tr>");
  const names = [...head.matchAll(/<th[^>]*>(.*?)<\/th>/g)].map(([, name = ""]) => name.replace(/<.*?>/g, ""));
  const labels = [...(rows[0] ?? "").matchAll(/data-label="(.*?)"/g)].map(([, label]) => label);
  expect(labels).toEqual(names.slice(1).filter(Boolean));
});

it("an address that does not exist gets a page with the list of all pages", () => {
  const html = read("404.html");
  expect(html).toContain("<h1>This page does not exist</h1>");
  // A server shows it at any depth, so nothing in it is relative.
  expect(targetsOf(html).filter((target) => !target.startsWith(BASE))).toEqual([]);
});

describe("the search", () => {
  const sections = () => JSON.parse(read("search.json")) as Section[];

  it("fetches its index from the site's folder", () => {
    expect(sections().find(({ heading }) => heading === "Disable a button")?.url).toBe(
      "/docs/react.html#disable-a-button",
    );
    const scripts = files.filter((file) => file.endsWith(".js"));
    expect(scripts.map(read).join("")).toContain(BASE);
  });

  it.each([
    ["testing", /test/],
    ["install", /#install/],
    ["cron", /sweep/],
    ["monthly", /month|calendar/],
    ["ban", /block/],
    ["dry run", /shadow/],
    ["backoff", /jitter|retry/],
    ["openai", /llm/],
    ["sharding", /shard/],
    ["OCC", /conflict/],
    ["throttle", /limit/],
  ])("for %s finds the section that answers among its first three", (words, expected) => {
    const found = makeSearch(sections())(words);
    expect(found.slice(0, 3).map(({ url }) => url)).toContainEqual(expect.stringMatching(expected));
  });

  it("finds nothing for no word, and for a word that nobody uses", () => {
    const find = makeSearch(sections());
    expect([find(""), find(" … "), find("zzzzqqq"), find("install zzzzqqq")]).toEqual([[], [], [], []]);
  });

  it("leaves out what is for people who change the package", () => {
    const pages = new Set(sections().map(({ url }) => url.replace(/\.html.*/, "")));
    expect([...pages].filter((page) => /AGENTS|CHANGELOG|CONTRIBUTING|CODE_OF_CONDUCT/.test(page))).toEqual([]);
    expect(pages).toContain("/docs/start");
  });
});

it("the page's backend is that of VITE_CONVEX_URL, or that of .env.local, or the embedded one", () => {
  const local = path.join(folder, "env.local");
  const [a, b] = ["https://a-1.convex.cloud", "https://b-2.convex.cloud"];
  for (const [text, given, expected] of [
    ["", undefined, undefined],
    [`CONVEX_DEPLOYMENT=dev:a-1 # team: t\nCONVEX_URL=${a}\n`, undefined, a],
    [`VITE_CONVEX_URL="${a}/"\n`, undefined, a],
    [`VITE_CONVEX_URL=${a}\n`, b, b],
    [`VITE_CONVEX_URL=${a}\n`, "", undefined],
  ] as const) {
    writeFileSync(local, text);
    expect(deploymentOf({ ...(given !== undefined && { VITE_CONVEX_URL: given }) }, local), text).toBe(expected);
  }
  expect(deploymentOf({}, path.join(folder, "no such file"))).toBeUndefined();
  const wrong = () => deploymentOf({ VITE_CONVEX_URL: "a-1" }, local);
  expect(wrong).toThrow(/must be the address of a deployment, .* got a-1/);
});
