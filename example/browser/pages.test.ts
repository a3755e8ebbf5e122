/** The page as a whole: two of them, a server that goes away, a wrong clock, a small screen, a keyboard, a screen reader. */
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { launch, open, type Opened, times } from "./chromium.js";
import { Site } from "./site.js";

let browser: Browser;
let site: Site;
let pages: Opened[] = [];
beforeAll(async () => {
  [browser, site] = await Promise.all([launch(), Site.open()]);
});
afterAll(async () => {
  await browser.close();
  await site.stop();
});
afterEach(async () => {
  for (const { page } of pages) await page.context().close();
  pages = [];
});

async function visit(url: string, options?: Parameters<typeof open>[2]): Promise<Page> {
  const opened = await open(browser, url, options);
  pages.push(opened);
  return opened.page;
}

const button = (page: Page, name: string): Locator => page.getByRole("button", { name, exact: true });
const panel = (page: Page, title: string): Locator => page.getByRole("region", { name: title });
const live = (page: Page) => page.getByText("Live", { exact: true }).waitFor();

it("two pages stay in step", async () => {
  const url = site.room("two");
  const [one, other] = [await visit(url), await visit(url)];
  await live(other);
  await button(one, "Send 5").click();
  await panel(other, "A limit under your hands")
    .getByText("No calls in the last minute")
    .waitFor({ state: "detached" });
  await one.getByLabel("Capacity").fill("33");
  await other.getByText("at most 33 are saved up").waitFor();
  await button(other, "Ask for 400 tokens").click();
  await button(other, "Ask for 1,000 tokens").click();
  await button(one, "Cancel job 2").click();
  await panel(other, "A queue for a language model").getByText("cancelled").waitFor();
  await button(other, "Log in").click();
  await panel(one, "Failed logins").getByText("4 guesses left").waitFor();
});

it("a server that stops is noticed, and the page goes on when it is back", async () => {
  const page = await visit(site.room("restart"));
  await button(page, "Send 5").click();
  await page.getByText("5 tokens: admitted. 5 left.").waitFor();

  await site.stop();
  await page.getByText("Disconnected, trying again").waitFor();
  expect(await button(page, "Send 1").isDisabled()).toBe(true);
  expect(await page.getByLabel("Capacity").isDisabled()).toBe(true);

  await site.start();
  await live(page);
  // It was in memory: the bucket is as good as new.
  await button(page, "Send 5").click();
  await page.getByText("5 tokens: admitted. 5 left.").waitFor();
  await button(page, "Send as Ann").click();
  await page.getByRole("group", { name: "Ben's window" }).getByRole("img", { name: "4 of 5 left" }).waitFor();
});

describe.each([
  ["behind", -5 * 60_000],
  ["ahead", 5 * 60_000],
])("a browser whose clock is five minutes %s", (_where, clockError) => {
  it("counts down to the server's moment, and what it then permits is admitted", async () => {
    const page = await visit(site.room("clock"), { clockError });
    const ann = page.getByRole("group", { name: "Ann's window" });
    await times(6, () => button(page, "Send anyway as Ann").click());
    await ann.getByText(/^Thrown: RateLimited, retryAt in [0-2]\.\d\ss\.$/).waitFor();
    await ann.getByText(/^Again in [12] s$/).waitFor();
    await ann.getByText("Go ahead").waitFor();
    await button(page, "Send as Ann").click();
    await ann.getByText("Sent.").waitFor();
    expect(await page.evaluate(() => Date.now())).toSatisfy((now: number) => Math.abs(now - Date.now()) > 4 * 60_000);
  });

  it("draws the present where it is", async () => {
    const page = await visit(site.room("clock"), { clockError });
    const hands = panel(page, "A limit under your hands");
    await button(page, "Send 5").click();
    await page.getByText("5 tokens: admitted. 5 left.").waitFor();
    await hands.getByText("No calls in the last minute").waitFor({ state: "detached" });
    // Full again after 2.5 s, and not before or at once.
    await hands.getByText("10.0").waitFor({ state: "detached" });
    await hands.getByText("10.0").waitFor();
    await button(page, "Ask for 400 tokens").click();
    await panel(page, "A queue for a language model")
      .getByText(/^ran \+\d+ ms$/)
      .waitFor();
  });
});

it("the app's HTTP API is served beside the page, under its limits", async () => {
  const get = () => fetch(`${site.url}/http/api/hello`);
  const answers = [await get(), await get(), await get(), await get()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(answers[3]?.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
});

it("works at 380 pixels, without scrolling sideways", async () => {
  const page = await visit(site.room("small"), { viewport: { width: 380, height: 800 } });
  await live(page);
  await button(page, "Ask for 400 tokens").click();
  await button(page, "Ask for 1,000 tokens").click();
  await button(page, "Cancel job 2").click();
  await button(page, "100 calls").click();
  await page.getByText("100 calls: 100 admitted").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(380);
});

it("works with the keyboard alone", async () => {
  const page = await visit(site.room("keys"));
  await live(page);
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  const tabTo = async (text: string) => {
    for (let step = 0; step < 60 && (await focused()) !== text; step++) await page.keyboard.press("Tab");
    expect(await focused()).toBe(text);
  };
  // The kinds are radio buttons: one stop, arrows within.
  await page.getByLabel("Token bucket").focus();
  await page.keyboard.press("ArrowRight");
  await page.getByText("at the start of each window").waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.getByText("evenly; at most").waitFor();
  await tabTo("Send 5");
  await page.keyboard.press("Enter");
  await page.getByText("5 tokens: admitted. 5 left.").waitFor();
  expect(await page.evaluate(() => getComputedStyle(document.activeElement ?? document.body).outlineStyle)).toBe(
    "solid",
  );
  await tabTo("Log in");
  await page.keyboard.press("Space");
  await page.getByText("Wrong password. 4 guesses left.").waitFor();
});

it("nothing jumps: neither while it loads nor while it is used", async () => {
  const page = await visit(site.room("calm"));
  await live(page);
  await page.getByText("10.0").waitFor();
  await button(page, "Send 5").click();
  await button(page, "Reserve 5").click();
  for (const tokens of [400, 1000, 100]) await button(page, `Ask for ${tokens.toLocaleString("en")} tokens`).click();
  await button(page, "Log in").click();
  await button(page, "100 calls").click();
  await page.getByText("100 calls: 100 admitted").waitFor();
  const shifts = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          const values = list.getEntries() as unknown as { value: number }[];
          resolve(values.reduce((sum, { value }) => sum + value, 0));
        }).observe({ type: "layout-shift", buffered: true });
        // Without any shift there is nothing to observe.
        requestAnimationFrame(() =>
          requestAnimationFrame(() => {
            resolve(0);
          }),
        );
      }),
  );
  expect(shifts).toBe(0);
});

it("a panel whose query fails says so, and the others go on", async () => {
  const opened = await open(browser, "about:blank");
  pages.push(opened);
  const { page } = opened;
  await page.routeWebSocket(/\/sync$/, (socket) => {
    const server = socket.connectToServer();
    let hotQuery: number | undefined;
    socket.onMessage((text) => {
      const { modifications = [] } = JSON.parse(String(text)) as {
        modifications?: { udfPath: string; queryId: number }[];
      };
      hotQuery ??= modifications.find(({ udfPath }) => udfPath === "playground:hot")?.queryId;
      server.send(text);
    });
    server.onMessage((text) => {
      const message = JSON.parse(String(text)) as { modifications?: { queryId: number }[] };
      const modifications = message.modifications?.map((modification) =>
        modification.queryId === hotQuery
          ? {
              type: "QueryFailed",
              queryId: hotQuery,
              errorMessage: "Uncaught Error: out of order",
              logLines: [],
              journal: null,
            }
          : modification,
      );
      socket.send(JSON.stringify({ ...message, ...(modifications && { modifications }) }));
    });
  });
  await page.goto(site.room("failing"));
  await panel(page, "A hot limit, on many rows").getByRole("alert").getByText("This panel has failed.").waitFor();
  await button(page, "Send 5").click();
  await page.getByText("5 tokens: admitted. 5 left.").waitFor();
});

describe.each(["light", "dark"] as const)("in %s colours", (colorScheme) => {
  it.each([1280, 380])("axe finds no serious or critical issue at %i pixels", async (width) => {
    const page = await visit(site.room("axe"), { colorScheme, viewport: { width, height: 900 } });
    await live(page);
    await button(page, "Send 5").click();
    await times(3, () => button(page, "Reserve 5").click());
    for (const left of [4, 3, 2, 1, 0]) {
      await button(page, "Log in").click();
      await page.getByText(new RegExp(`Wrong password. ${left} `)).waitFor();
    }
    for (const tokens of [400, 1000, 1000]) await button(page, `Ask for ${tokens.toLocaleString("en")} tokens`).click();
    await button(page, "Cancel job 2").click();
    await button(page, "100 calls").click();
    await page.getByText("100 calls: 100 admitted").waitFor();
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe(colorScheme);
    expect(await seriousIssues(page)).toEqual([]);
  });

  it("the other colours are a button away, and are remembered", async () => {
    const page = await visit(site.room("theme"), { colorScheme });
    const other = colorScheme === "dark" ? "light" : "dark";
    await button(page, `Switch to ${other} colours`).click();
    await page.reload();
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe(other);
  });
});

async function seriousIssues(page: Page): Promise<string[]> {
  await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core/axe.min.js") });
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run(),
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
