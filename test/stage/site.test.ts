/** `npm run site`: the documents as static files in a folder of a server, as on GitHub Pages. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildSite } from "../../stage/site/build.js";
import { deploymentOf } from "../../stage/site/deployment.js";

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

it("the site begins with the README and finds sections", () => {
  expect(read("index.html")).toContain("<title>convex-rate-limits · convex-rate-limits</title>");
  const sections = JSON.parse(read("search.json")) as { url: string; heading: string }[];
  expect(sections.find(({ heading }) => heading === "useRateLimit")?.url).toBe("/docs/react.html#useratelimit");
  const scripts = files.filter((file) => file.endsWith(".js"));
  expect(scripts.map(read).join("")).toContain(BASE);
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
