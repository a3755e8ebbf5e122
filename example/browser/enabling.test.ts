/**
 * When a button that waits for a token is enabled, measured against the moment that the server has named; and whether a click at
 * that very moment is accepted. The page and the server run on one machine, so that both read the same clock.
 */
import { isRateLimitError, type RateLimitSnapshot } from "convex-rate-limits";
import { ConvexHttpClient } from "convex/browser";
import { makeFunctionReference } from "convex/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { launch, open, type Opened, shiftClock } from "./chromium.js";
import { HiddenTab } from "./hiddenTab.js";
import { Site } from "./site.js";

const MINUTE = 60_000;
/** A token arrives every two seconds (playground.ts): a button that is this late has missed one. */
const TOKEN_MS = 2000;
const WAITS = 4;

let browser: Browser;
let site: Site;
let opened: Opened | undefined;
beforeAll(async () => {
  [browser, site] = await Promise.all([launch(), Site.open()]);
});
afterAll(async () => {
  await browser.close();
  await site.stop();
});
afterEach(async () => {
  await opened?.page.context().close();
  opened = undefined;
});

/** A page that clicks on Ann's button in the moment in which it is enabled. */
async function visit(): Promise<{ page: Page; room: string }> {
  const url = site.room("enabling");
  opened = await open(browser, url);
  const { page } = opened;
  await page.getByRole("button", { name: "Send as Ann", exact: true }).waitFor();
  await page.evaluate(clickWhenEnabled);
  return { page, room: new URL(url).searchParams.get("room") ?? "" };
}

interface Clicks {
  /** When the button was enabled, by a clock that nobody sets. */
  enabledAt: number[];
  /** What the page said of each click. */
  answers: string[];
}

/** Runs in the page. */
function clickWhenEnabled(): void {
  const clicks: Clicks = { enabledAt: [], answers: [] };
  Object.assign(globalThis, { clicks });
  const button = document.querySelector<HTMLButtonElement>('[aria-label="Send as Ann"]');
  const group = document.querySelector(`[aria-label="Ann's window"]`);
  if (!button || !group) throw new Error("The page has no window of Ann's.");
  let wasDisabled = button.disabled;
  new MutationObserver(() => {
    if (wasDisabled && !button.disabled) {
      clicks.enabledAt.push(performance.timeOrigin + performance.now());
      button.click();
    }
    wasDisabled = button.disabled;
    if (group.textContent.includes("Thrown")) clicks.answers.push(group.textContent);
  }).observe(group, { subtree: true, childList: true, characterData: true, attributes: true });
}

/** A page in which something can be run: Playwright's, or a tab's. */
type Runs = Pick<HiddenTab, "evaluate">;

const clicksOf = (page: Runs): Promise<Clicks> =>
  page.evaluate(() => (globalThis as unknown as { clicks: Clicks }).clicks);

/** Has the page wait for a token so many times; by how many milliseconds its button was late. */
async function measure(page: Runs, room: string): Promise<number[]> {
  const client = new ConvexHttpClient(site.url, { logger: false });
  const late: number[] = [];
  for (let wait = 0; wait < WAITS; wait++) {
    const retryAt = await drain(client, room);
    // The one before was for a token that the drain has taken, in the moment in which it arrived.
    const isForThis = (at: number) => at > retryAt - TOKEN_MS / 2;
    const enabledAt = await vi.waitUntil(async () => (await clicksOf(page)).enabledAt.find(isForThis), 10_000);
    late.push(enabledAt - retryAt);
    // The click has been accepted when the bucket was written after it.
    await expect
      .poll(async () => (await client.query(shared, { key: room })).ts, { timeout: 10_000 })
      .toBeGreaterThan(retryAt - 1);
  }
  return late;
}

const shared = makeFunctionReference<"query", { key: string }, RateLimitSnapshot>("playground:shared");
const post = makeFunctionReference<"mutation", { room: string }>("playground:post");

/** Takes what is there, until a call is denied. When the next token arrives. */
async function drain(client: ConvexHttpClient, room: string): Promise<number> {
  for (;;) {
    try {
      await client.mutation(post, { room });
    } catch (error) {
      if (!isRateLimitError(error)) throw error;
      return error.data.retryAt;
    }
  }
}

function report(story: string, late: readonly number[]): void {
  console.log(`${story}: enabled ${late.map((ms) => Math.round(ms)).join(", ")} ms after the server's moment`);
}

async function expectAllAccepted(page: Runs): Promise<void> {
  expect((await clicksOf(page)).answers).toEqual([]);
}

it("an undisturbed page: every click at the moment of enabling is accepted", async () => {
  const { page, room } = await visit();
  const late = await measure(page, room);
  report("undisturbed", late);
  await expectAllAccepted(page);
  expect(Math.max(...late)).toBeLessThan(TOKEN_MS);
});

it.each([
  ["back", -5 * MINUTE],
  ["ahead", 5 * MINUTE],
])("a computer whose clock is set %s five minutes while it is connected", async (where, ms) => {
  const { page, room } = await visit();
  await page.evaluate(shiftClock, ms);
  expect(await page.evaluate(() => Date.now() - performance.timeOrigin - performance.now())).toSatisfy(
    (apart: number) => Math.abs(apart - ms) < MINUTE,
  );
  const late = await measure(page, room);
  report(`set ${where}`, late);
  await expectAllAccepted(page);
  expect(Math.max(...late)).toBeLessThan(TOKEN_MS);
});

it("a main thread that is busy for 300 of every 400 ms", async () => {
  const { page, room } = await visit();
  await page.evaluate(() => {
    setInterval(() => {
      const until = performance.now() + 300;
      while (performance.now() < until);
    }, 400);
  });
  const late = await measure(page, room);
  report("busy", late);
  await expectAllAccepted(page);
  expect(Math.max(...late)).toBeLessThan(TOKEN_MS);
});

it("a tab behind another one, whose timers the browser fires about once a second", async () => {
  const url = site.room("hidden");
  const tab = await HiddenTab.open(url);
  try {
    await vi.waitUntil(() => tab.evaluate(() => document.querySelector('[aria-label="Send as Ann"]') !== null), 10_000);
    await tab.evaluate(clickWhenEnabled);
    await tab.hide();
    await vi.waitUntil(() => tab.evaluate(() => document.visibilityState === "hidden"), 10_000);
    const late = await measure(tab, new URL(url).searchParams.get("room") ?? "");
    report("hidden", late);
    await expectAllAccepted(tab);
    expect(await tab.evaluate(() => document.visibilityState)).toBe("hidden");
    expect(Math.max(...late)).toBeLessThan(TOKEN_MS);
  } finally {
    await tab.close();
  }
});
