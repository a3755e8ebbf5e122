/** The site around the stage: how fast it loads, its documents and their links, and the output of `npm start`. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { issuesOf } from "./axe.js";
import { Site } from "./site.js";
import { complaints, openPage, site } from "./visits.js";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

describe("the first screen", () => {
  it.each([1280, 390])("says at %i px what it is, how to get it and where to read on", async (width) => {
    const page = await openPage(site.room("first"), { viewport: { width, height: 844 } });
    await page.getByRole("heading", { name: "Rate limits for Convex that stay exact under load.", level: 1 }).waitFor();
    await page.getByText("if it throws, no tokens were taken.").waitFor();
    await page.getByText("A denial says when to come back.").waitFor();
    await page.getByRole("link", { name: "Start", exact: true }).first().waitFor();
    // The tabs are also on the first screen.
    const box = await page.getByRole("tablist").boundingBox();
    expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(844);
    const install = await page.locator("#install").innerText();
    expect(readme).toContain(install);
  });

  it("the install line can be copied", async () => {
    const page = await openPage(site.room("copy"));
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy the install line" }).click();
    await page.getByText("Copied").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await page.locator("#install").innerText());
  });
});

/** The longest wait for the first paint on an idle machine. A busy machine may take ten times as long. */
const FIRST_PAINT_MS = 1000;
const BUSY = 10;
/** The most that the first screen may load, in requests and in bytes as sent. The page is served without compression. */
const MOST_REQUESTS = 10;
const MOST_BYTES = 640_000;

describe.each(["", "docs/start.html"])("/%s", (path) => {
  it("is small, is painted at once and does not jump", async () => {
    const page = await openPage("about:blank");
    const requests: string[] = [];
    page.on("requestfinished", (request) => requests.push(request.url()));
    // Wait until nothing more is fetched.
    await page.goto(`${site.url}/${path}`, { waitUntil: "networkidle" });
    const measured = await page.evaluate(async () => {
      const entries = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
      const [document] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
      const bytes = [document, ...entries].reduce((sum, entry) => sum + (entry?.decodedBodySize ?? 0), 0);
      const shift = await new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          resolve((list.getEntries() as unknown as { value: number }[]).reduce((sum, { value }) => sum + value, 0));
        }).observe({ type: "layout-shift", buffered: true });
        requestAnimationFrame(() =>
          requestAnimationFrame(() => {
            resolve(0);
          }),
        );
      });
      return { paintMs: performance.getEntriesByName("first-contentful-paint")[0]?.startTime, bytes, shift };
    });
    console.log(
      `/${path}: first paint after ${Math.round(measured.paintMs ?? NaN)} ms, ${measured.bytes} bytes, ${requests.length} requests`,
    );
    expect(measured.paintMs).toBeLessThan(BUSY * FIRST_PAINT_MS);
    expect(measured.bytes).toBeLessThan(MOST_BYTES);
    expect(requests.length).toBeLessThanOrEqual(MOST_REQUESTS);
    expect(measured.shift).toBe(0);
  });

  it("follows good practice", async () => {
    const page = await openPage(`${site.url}/${path}`);
    expect(await page.title()).not.toBe("");
    const facts = await page.evaluate(() => ({
      doctype: document.doctype?.name,
      charset: document.characterSet,
      lang: document.documentElement.lang,
      viewport: document.querySelector('meta[name="viewport"]')?.getAttribute("content"),
      description: (document.querySelector('meta[name="description"]')?.getAttribute("content") ?? "").length > 20,
      headings: document.querySelectorAll("h1").length,
      blindPictures: document.querySelectorAll("img:not([alt])").length,
      unsafeLinks: document.querySelectorAll('a[target="_blank"]:not([rel~="noreferrer"])').length,
    }));
    expect(facts).toEqual({
      doctype: "html",
      charset: "UTF-8",
      lang: "en",
      viewport: "width=device-width, initial-scale=1",
      description: true,
      headings: 1,
      blindPictures: 0,
      unsafeLinks: 0,
    });
    expect(complaints()).toEqual([]);
  });
});

describe("the documents", () => {
  it.each([
    [1280, "light"],
    [390, "dark"],
  ] as const)("are readable at %i px in %s colours", async (width, colorScheme) => {
    for (const path of ["docs/start.html", "docs/hot-limits.html", "README.html"]) {
      const page = await openPage(`${site.url}/${path}`, { colorScheme, viewport: { width, height: 900 } });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      expect(await issuesOf(page)).toEqual([]);
      await page.context().close();
    }
  });

  it("can be searched with the keyboard alone", async () => {
    const page = await openPage(`${site.url}/docs/start.html`);
    await page.keyboard.press("/");
    await page.keyboard.type("calendar");
    const found = page.getByRole("list", { name: "Search results" }).getByRole("link");
    await found.first().waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.href !== `${site.url}/docs/start.html`);
    await page
      .getByText(/calendar/i)
      .first()
      .waitFor();
    await page.getByLabel("Search the docs").fill("zzzzqqq");
    await page.getByText("Nothing found.").waitFor();
  });

  it.each([
    ["sharding", "Hot limits"],
    ["OCC", "Hot limits"],
    ["throttle", "Limit"],
  ])("a search for %s also finds %s, and Enter opens the first hit", async (word, heading) => {
    const page = await openPage(`${site.url}/docs/start.html`);
    await page.getByLabel("Search the docs").fill(word);
    const found = page.getByRole("list", { name: "Search results" });
    await found.getByText(heading).first().waitFor();
    const first = await found.getByRole("link").first().getAttribute("href");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${site.url}${first ?? ""}`);
  });

  it("come before the folded lists on a phone, and link to the previous page, the next page and their own sections", async () => {
    const page = await openPage(`${site.url}/docs/hot-limits.html`, { viewport: { width: 390, height: 844 } });
    const { y = Infinity } = (await page.getByRole("heading", { level: 1 }).boundingBox()) ?? {};
    expect(y).toBeLessThan(400);
    await page.getByText("On this page", { exact: true }).click();
    await page.getByRole("navigation", { name: "On this page" }).getByText("What it costs").click();
    await page.waitForURL(/#what-it-costs$/);
    await page.getByRole("navigation", { name: "Previous and next page" }).getByText("Migrating").click();
    await page.waitForURL(/docs\/migrating\.html$/);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.reload();
    await page.getByRole("navigation", { name: "Documents" }).getByText("Hot limits", { exact: true }).click();
    await page.waitForURL(/docs\/hot-limits\.html$/);
  });

  it("have no broken link within this site", async () => {
    const seen = new Map<string, Set<string>>();
    const broken: string[] = [];
    const queue = ["/", "/docs/start.html"];
    for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
      if (seen.has(path)) continue;
      const response = await fetch(site.url + path);
      const isPage = response.headers.get("content-type")?.startsWith("text/html") ?? false;
      const html = isPage ? await response.text() : "";
      seen.set(path, new Set([...html.matchAll(/\bid="([^"]+)"/g)].map(([, id = ""]) => id)));
      if (!response.ok) broken.push(path);
      // The text of a source may show links. The page around it has no links of its own that other pages do not have.
      if (path.startsWith("/source/")) continue;
      for (const [, link = ""] of html.matchAll(/\b(?:href|src|srcset)="([^"]+)"/g)) {
        const { origin, pathname } = new URL(link, site.url + path);
        if (origin === site.url) queue.push(pathname);
      }
    }
    for (const path of seen.keys()) {
      if (path.startsWith("/source/") || !(path === "/" || path.endsWith(".html"))) continue;
      const html = await (await fetch(site.url + path)).text();
      for (const [, link = ""] of html.matchAll(/\bhref="([^"]+)"/g)) {
        const { origin, pathname, hash } = new URL(link, site.url + path);
        if (origin !== site.url || hash === "" || !pathname.endsWith(".html")) continue;
        if (!seen.get(pathname)?.has(decodeURIComponent(hash.slice(1)))) broken.push(`${path} → ${link}`);
      }
    }
    expect(broken).toEqual([]);
    expect(seen.size).toBeGreaterThan(30);
  });

  it("an address that does not exist is a 404", async () => {
    expect((await fetch(`${site.url}/docs/nothing.html`)).status).toBe(404);
  });
});

describe("npm start", () => {
  it("prints the address of the page, and a curl line for the HTTP API that works", async () => {
    expect(site.said).toContain(`${site.url}/`);
    expect(site.said).toContain("npx convex dev, which writes .env.local");
    expect(site.said).toContain("for development, in memory");
    const [, address = ""] = /curl -i '([^']+)'/.exec(site.said) ?? [];
    const statuses = [];
    for (let call = 0; call < 6; call++) statuses.push((await fetch(address)).status);
    expect(statuses.slice(0, 5)).toEqual([200, 200, 200, 200, 200]);
  });

  it("with the address of a deployment, the page connects to that one, in the protocol of Convex's client", async () => {
    const deployment = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(deployment, "listening");
    const messages: { type: string; modifications?: { udfPath: string }[] }[] = [];
    const paths: string[] = [];
    deployment.on("connection", (socket, request) => {
      paths.push(request.url ?? "");
      socket.on("message", (data: Buffer) =>
        messages.push(JSON.parse(data.toString("utf8")) as (typeof messages)[number]),
      );
    });
    const url = `http://127.0.0.1:${(deployment.address() as AddressInfo).port}`;
    const other = await Site.open({ VITE_CONVEX_URL: url });
    try {
      expect(other.said).toContain(`${url}, of VITE_CONVEX_URL: a Convex deployment`);
      await openPage(other.room("deployed"));
      await expect
        .poll(() => messages.flatMap(({ modifications = [] }) => modifications.map(({ udfPath }) => udfPath)), {
          timeout: 20_000,
        })
        .toContain("stage/burst:bucket");
      expect(paths[0]).toMatch(/^\/api\/[\w.-]+\/sync$/);
      expect(messages[0]?.type).toBe("Connect");
      // No backend is embedded.
      expect((await fetch(`${other.url}/http/api/hello`)).status).toBe(404);
    } finally {
      await other.stop();
      for (const client of deployment.clients) client.terminate();
      deployment.close();
    }
  });
});
