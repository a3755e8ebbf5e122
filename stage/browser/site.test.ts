/** The site around the stage: how fast it loads, its documents and their links, and the output of `npm start`. */
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { issuesOf } from "./axe.js";
import { buildStatic, Site } from "./site.js";
import { complaints, openPage, site } from "./visits.js";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

describe("the first screen", () => {
  it.each([
    [1280, 800],
    [390, 844],
  ])("says at %i × %i px what it is, how to get it and where to read on", async (width, height) => {
    // Without a tab in the address, the page is not scrolled.
    const page = await openPage(site.room("first", ""), { viewport: { width, height } });
    await page.getByRole("heading", { name: "Rate limits for Convex that stay exact under load.", level: 1 }).waitFor();
    const why = page.locator(".lede");
    expect(await why.innerText()).toBe(
      "Like the official component, they roll back with your mutation. Unlike it, they stay exact on a key that all " +
        "users share, queue work that must wait, and cap any hour, whenever it begins (comparison). At 1,000 calls a " +
        "second on one key none fails with a write conflict. With the official component's 16 shards 32 to 40 % do " +
        "(simulated).",
    );
    const targets = await why.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    expect(targets).toEqual(["/docs/comparison.html", "/docs/benchmarks.html"]);
    expect((await page.getByRole("tab").allTextContents())[1]).toBe("Under load");
    // The tabs, what to click and its outcome are on the first screen.
    for (const part of [
      page.getByRole("tablist"),
      page.getByText("press “Send, then throw” five times"),
      page.getByRole("group", { name: "Lost tokens" }),
    ]) {
      const box = await part.boundingBox();
      expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(height);
    }
    // The row of tabs says whether it goes on.
    expect(await page.locator(".scroller[data-more] > [role=tablist]").count()).toBe(width < 1280 ? 1 : 0);
    await page.getByRole("link", { name: "Start", exact: true }).first().waitFor();
    const install = page.locator("#install");
    expect(readme).toContain(await install.innerText());
    expect(await install.evaluate((line) => line.scrollWidth > line.clientWidth)).toBe(false);
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
      shared: ["title", "description", "type", "site_name"].filter((name) =>
        document.querySelector(`meta[property="og:${name}"]`)?.getAttribute("content"),
      ),
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
      shared: ["title", "description", "type", "site_name"],
      blindPictures: 0,
      unsafeLinks: 0,
    });
    const loaded = await page.evaluate(async () => {
      await document.fonts.ready;
      return [...document.fonts].filter(({ status }) => status === "loaded").map(({ family }) => family);
    });
    // The first is the text's font, the second the code's.
    expect(loaded.map((family) => family.replaceAll('"', ""))).toEqual(["Inter Variable", "JetBrains Mono Variable"]);
    expect(complaints()).toEqual([]);
  });
});

/** Runs in the page: the size in pixels of the smallest text in its pictures, as it is shown. */
async function smallestTextOfPictures(): Promise<number> {
  const sizes = [...document.querySelectorAll<HTMLImageElement>("main img")].map(async (picture) => {
    const svg = await (await fetch(picture.src)).text();
    const [, width] = /viewBox="0 0 ([\d.]+)/.exec(svg) ?? [];
    const fonts = [...svg.matchAll(/font(?:-size)?: (?:\d+ )?([\d.]+)px/g)].map(([, size]) => Number(size));
    return (Math.min(...fonts) * picture.getBoundingClientRect().width) / Number(width);
  });
  return Math.min(...(await Promise.all(sizes)));
}

it("the static copy of the page runs its backend in the browser", async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "copy-"));
  await buildStatic(folder, "/copy/");
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://copy");
    const file = path.join(folder, pathname.replace(/^\/copy\//, ""));
    const type = { ".js": "text/javascript", ".css": "text/css", ".html": "text/html" }[path.extname(file)];
    if (existsSync(file)) response.setHeader("Content-Type", type ?? "font/woff2").end(readFileSync(file));
    else response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as AddressInfo;
    const page = await openPage(`http://127.0.0.1:${port}/copy/playground.html?room=copy&autoplay=off`);
    const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
    const go = (name: string) => page.getByRole("tab", { name, exact: true }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    await press("Send");
    await press("Send, then throw");
    await page.getByText("2 calls: 1 sent, 1 threw, 0 denied.").waitFor();
    await page.getByText(/as Convex counts: 2 rows read, 2 written, all undone\.$/).waitFor();
    await page.getByRole("img", { name: /^In the mutation: (9|10) of 10 tokens$/ }).waitFor();
    // A scheduled action of the queue, and the component behind an HTTP action.
    await go("Queue LLM calls");
    await press("A job of 100 tokens");
    await page.getByText("answered", { exact: true }).waitFor();
    await go("HTTP 429");
    await press("Send 6");
    await page.getByText("HTTP/1.1 429 Too Many Requests").waitFor();
    await go("Support desk");
    await press("Block");
    await press("Try a login");
    await page.getByText("login: blocked", { exact: true }).waitFor();
    expect(complaints()).toEqual([]);
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
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
    const focused = () =>
      page.evaluate(() => document.activeElement?.getAttribute("href") ?? document.activeElement?.id);
    await page.keyboard.press("/");
    await page.keyboard.type("calendar");
    const found = page.getByRole("list", { name: "Search results" }).getByRole("link");
    await found.nth(1).waitFor();
    const [first, second, ...others] = await found.evaluateAll((links) =>
      links.map((link) => link.getAttribute("href")),
    );
    for (const [key, expected] of [
      ["ArrowDown", first],
      ["ArrowDown", second],
      ["ArrowUp", first],
      ["ArrowUp", "search"],
      ["ArrowUp", others.at(-1)],
      ["ArrowDown", "search"],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focused(), key).toBe(expected);
    }
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Escape");
    expect([await focused(), await found.count()]).toEqual(["search", 0]);
    await page.keyboard.type("zzzzqqq");
    await page.getByText("Nothing found.").waitFor();
    // The words of other documentations find ours.
    for (const [words, hit] of [
      ["openai", "/docs/llm.html"],
      ["dry run", "/docs/operations.html#try-a-limit-in-shadow"],
    ] as const) {
      await page.getByLabel("Search the docs").fill(words);
      await expect.poll(() => found.first().getAttribute("href"), { message: words }).toContain(hit);
    }
    // Enter in the box opens the first hit.
    await page.getByLabel("Search the docs").fill("calendar");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${site.url}${first ?? ""}`);
  });

  it("copy code, mark the current section, skip to the text, and jump to a section without scrolling past others", async () => {
    const page = await openPage("about:blank");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${site.url}/docs/start.html`);
    const block = page.locator(".code").first();
    await block.hover();
    await block.getByRole("button", { name: "Copy" }).click();
    await block.getByText("Copied").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await block.locator("code").textContent());

    const contents = page.getByRole("navigation", { name: "On this page" });
    const current = contents.locator("[aria-current=location]");
    expect(await current.count()).toBe(0);
    const headings = await contents.getByRole("link").allTextContents();
    for (const at of [1, headings.length - 1]) {
      // If the way were animated, the heading would not be there at once.
      const { y } = await contents
        .getByRole("link")
        .nth(at)
        .evaluate((link: HTMLAnchorElement) => {
          link.click();
          return document.querySelector(link.hash)?.getBoundingClientRect() ?? { y: NaN };
        });
      expect(y).toBeLessThan(900);
      await current.getByText(headings[at] ?? "", { exact: true }).waitFor();
      expect(await current.count()).toBe(1);
    }

    const heading = page.getByRole("heading", { name: "Read the answer" });
    await heading.hover();
    await heading.getByRole("link", { name: "Link to this section" }).click();
    await page.waitForURL(/#read-the-answer$/);

    for (const [address, name] of [
      ["docs/jobs.html", "Skip to the text"],
      ["", "Skip to the demo"],
    ] as const) {
      await page.goto(`${site.url}/${address}`);
      await page.keyboard.press("Tab");
      expect((await page.getByRole("link", { name }).boundingBox())?.width).toBeGreaterThan(50);
      await page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
      expect(await page.evaluate(() => document.activeElement?.closest("main") !== null)).toBe(true);
    }
  });

  it("are readable on a phone: pictures, tables and code, and the whole menu", async () => {
    const page = await openPage(`${site.url}/docs/choosing.html`, {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect(await page.evaluate(smallestTextOfPictures)).toBeGreaterThanOrEqual(11);
    const menu = page.getByRole("navigation", { name: "Site" }).getByRole("link");
    expect(await menu.evaluateAll((links) => links.map((link) => link.checkVisibility()))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    const cells = page.locator("table.list td");
    const cutOff = (all: Element[]) => all.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).length;
    expect([await cells.first().isVisible(), await cells.evaluateAll(cutOff)]).toEqual([true, 0]);
    // Nothing hovers on a phone.
    expect(
      await page
        .locator(".copy")
        .first()
        .evaluate((button) => getComputedStyle(button).opacity),
    ).toBe("1");

    for (const content of ["img", "pre"]) {
      const box = page.locator(`.scroller:has(${content})`).first();
      const hint = () => box.evaluate((it) => getComputedStyle(it, "::after").content);
      expect(await hint()).toContain("›");
      await box.locator(":scope > :first-child").evaluate((it) => {
        it.scrollLeft = it.scrollWidth;
      });
      await expect.poll(hint).toBe("none");
    }
  });

  it("are printed in dark letters on white, without what only a screen needs, and with all of each line", async () => {
    const page = await openPage(`${site.url}/docs/start.html`, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    for (const gone of [".bar", ".aside", ".turn", ".copy", ".anchor"]) {
      expect(await page.locator(gone).first().isVisible(), gone).toBe(false);
    }
    const paper = await page.evaluate(() => {
      const [pre] = document.querySelectorAll("pre");
      const { color, backgroundColor } = getComputedStyle(pre ?? document.body);
      const cut = [...document.querySelectorAll("pre")].filter((code) => code.scrollWidth > code.clientWidth);
      return { color, backgroundColor, cut: cut.length };
    });
    expect(paper).toEqual({ color: "rgb(0, 0, 0)", backgroundColor: "rgb(255, 255, 255)", cut: 0 });
  });

  it("come before the folded lists on a phone, and link to the previous page, the next page and their own sections", async () => {
    const page = await openPage(`${site.url}/docs/hot-limits.html`, { viewport: { width: 390, height: 844 } });
    const { y = Infinity } = (await page.getByRole("heading", { level: 1 }).boundingBox()) ?? {};
    expect(y).toBeLessThan(400);
    await page.getByText("On this page", { exact: true }).click();
    await page.getByRole("navigation", { name: "On this page" }).getByText("Know what you give up").click();
    await page.waitForURL(/#know-what-you-give-up$/);
    await page.getByRole("navigation", { name: "Previous and next page" }).getByText("Migrating").click();
    await page.waitForURL(/docs\/migrating\.html$/);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.reload();
    const documents = page.getByRole("navigation", { name: "Documents" });
    const groups = await documents.getByRole("heading").allTextContents();
    expect(groups).toEqual(["Begin", "Build", "Run", "Check", "Project"]);
    await documents.getByText("Hot limits", { exact: true }).click();
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
    const response = await fetch(`${site.url}/docs/nothing.html`);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("<h1>This page does not exist</h1>");
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
