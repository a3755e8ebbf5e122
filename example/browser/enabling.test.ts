/**
 * When a button that waits for a token is enabled, measured against the moment that the server has named; and whether a click at
 * that very moment is accepted. The page and the server run on one machine, so that both read the same clock.
 */
import type { Page } from "playwright-core";
import { expect, it, vi } from "vitest";
import { api } from "../convex/_generated/api.js";
import { shiftClock } from "./chromium.js";
import { HiddenTab } from "./hiddenTab.js";
import { Room } from "./room.js";
import { openPage, site } from "./visits.js";

const MINUTE = 60_000;
/** A token arrives every two seconds (see visit): a button that is this late has missed one. */
const TOKEN_MS = 2000;
const WAITS = 4;
/** How far the page's idea of the server's clock may be off on a busy machine: half of the shortest of three round trips. */
const CLOCK_ERROR_MS = 500;

/** A room whose bucket holds five tokens, and gets one every two seconds. */
async function prepared(): Promise<Room> {
  const room = new Room(site, site.room("enabling"));
  await room.edit("send", { rate: 30, period: MINUTE, capacity: 5 });
  return room;
}

/** Runs in the page: edits the count in the code, as somebody who types does. */
function askForOne(): void {
  const input = document.querySelector<HTMLInputElement>('[aria-label="count"]');
  const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  if (!input || !value) throw new Error("The code has no count.");
  value.set?.call(input, "1");
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

/** A page that clicks on the button of the polite in the moment in which it is enabled. */
async function visit(): Promise<{ page: Page; room: Room }> {
  const room = await prepared();
  const page = await openPage(room.url);
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByLabel("count").fill("1");
  await page.getByLabel("Verdict").getByText("1 token: go ahead").waitFor();
  await page.evaluate(clickWhenEnabled);
  return { page, room };
}

interface Clicks {
  /** When the button was enabled, by a clock that nobody sets. */
  enabledAt: number[];
  /** How many calls were denied. */
  denied: number;
}

/** Runs in the page. A click that came too early is made again. */
function clickWhenEnabled(): void {
  const clicks: Clicks = { enabledAt: [], denied: 0 };
  Object.assign(globalThis, { clicks });
  const button = document.querySelector<HTMLButtonElement>('[aria-label="Send when allowed"]');
  const panel = document.querySelector("#panel");
  if (!button || !panel) throw new Error("The page has no button of the polite.");
  let wasDisabled = button.disabled;
  let marks = 0;
  new MutationObserver(() => {
    if (wasDisabled && !button.disabled) {
      clicks.enabledAt.push(performance.timeOrigin + performance.now());
      button.click();
    }
    wasDisabled = button.disabled;
    // The chart marks each denial, for a while.
    const now = panel.querySelectorAll("[data-denied]").length;
    if (now > marks) {
      clicks.denied += now - marks;
      button.click();
    }
    marks = now;
  }).observe(panel, { subtree: true, childList: true, characterData: true, attributes: true });
}

/** A page in which something can be run: Playwright's, or a tab's. */
type Runs = Pick<HiddenTab, "evaluate">;

const clicksOf = (page: Runs): Promise<Clicks> =>
  page.evaluate(() => (globalThis as unknown as { clicks: Clicks }).clicks);

/** Has the page wait for a token so many times; by how many milliseconds its button was late. */
async function measure(page: Runs, room: Room): Promise<number[]> {
  const late: number[] = [];
  let denied = 0;
  let enabledAt = 0;
  for (let wait = 0; wait < WAITS; wait++) {
    const retryAt = await drain(room);
    // The one before may have been for a token that the drain has taken, in the moment in which it arrived.
    const before = Math.max(enabledAt, retryAt - TOKEN_MS / 2);
    enabledAt = await vi.waitUntil(async () => (await clicksOf(page)).enabledAt.find((at) => at > before), 20_000);
    const lateMs = enabledAt - retryAt;
    late.push(lateMs);
    // The click has been accepted when the bucket was written after it.
    await expect.poll(async () => (await room.snapshot("send")).ts, { timeout: 10_000 }).toBeGreaterThan(retryAt - 1);
    // The page and the server read one clock, to the millisecond: whoever is not early is not denied.
    const { denied: deniedSoFar } = await clicksOf(page);
    if (lateMs >= 1) expect(deniedSoFar).toBe(denied);
    denied = deniedSoFar;
  }
  return late;
}

/** Takes what is there, until a call is denied. When the next token arrives. */
async function drain({ client, name: room }: Room): Promise<number> {
  for (;;) {
    const status = await client.mutation(api.stage.burst.send, { room, count: 1, reserve: false });
    if (!status.ok) return status.retryAt;
  }
}

function report(story: string, late: readonly number[]): void {
  console.log(`${story}: enabled ${late.map((ms) => Math.round(ms)).join(", ")} ms after the server's moment`);
}

function expectInTime(late: readonly number[]): void {
  expect(Math.min(...late)).toBeGreaterThan(-CLOCK_ERROR_MS);
  expect(Math.max(...late)).toBeLessThan(TOKEN_MS);
}

it("an undisturbed page: a click at the moment of enabling is accepted", async () => {
  const { page, room } = await visit();
  const late = await measure(page, room);
  report("undisturbed", late);
  expectInTime(late);
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
  expectInTime(late);
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
  expectInTime(late);
});

it("a tab behind another one, whose timers the browser fires about once a second", async () => {
  const room = await prepared();
  const tab = await HiddenTab.open(room.url);
  try {
    const verdict = () => tab.evaluate(() => document.querySelector('[aria-label="Verdict"]')?.textContent);
    await vi.waitUntil(async () => (await verdict()) === "5 tokens: go ahead", 20_000);
    await tab.evaluate(askForOne);
    await vi.waitUntil(async () => (await verdict()) === "1 token: go ahead", 20_000);
    await tab.evaluate(clickWhenEnabled);
    await tab.hide();
    await vi.waitUntil(() => tab.evaluate(() => document.visibilityState === "hidden"), 20_000);
    const late = await measure(tab, room);
    report("hidden", late);
    expect(await tab.evaluate(() => document.visibilityState)).toBe("hidden");
    expectInTime(late);
  } finally {
    await tab.close();
  }
});
