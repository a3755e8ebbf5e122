/**
 * Measures how long after the server's `retryAt` a button that waits for a token is enabled, and checks that a click as soon as it is
 * enabled is accepted. The page and the server run on one machine, so that both read the same clock.
 */
import type { Page } from "playwright-core";
import { expect, it, vi } from "vitest";
import { api } from "../convex/_generated/api.js";
import { shiftClock } from "./chromium.js";
import { HiddenTab } from "./hiddenTab.js";
import { Room } from "./room.js";
import { openPage, site } from "./visits.js";

const MINUTE = 60_000;
/** A token arrives every two seconds (see `prepareRoom`). A button that is this late has missed one. */
const TOKEN_MS = 2000;
const WAITS = 4;
/** How far the page's estimate of the server's clock may be off on a busy machine: half of the shortest of three round trips. */
const CLOCK_ERROR_MS = 500;

/** A room whose bucket holds five tokens, and gets one every two seconds. */
async function prepareRoom(): Promise<Room> {
  const room = new Room(site, site.room("enabling"));
  await room.edit("send", { rate: 30, period: MINUTE, capacity: 5 });
  return room;
}

/** Runs in the page: sets the count in the code to 1, as if somebody typed it. */
function askForOne(): void {
  const input = document.querySelector<HTMLInputElement>('[aria-label="count"]');
  const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  if (!input || !value) throw new Error("The code has no count.");
  value.set?.call(input, "1");
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Opens a page that clicks "Send when allowed" as soon as the button is enabled. */
async function visit(): Promise<{ page: Page; room: Room }> {
  const room = await prepareRoom();
  const page = await openPage(room.url);
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByLabel("count").fill("1");
  await page.getByLabel("Verdict").getByText("1 token: go ahead").waitFor();
  await page.evaluate(clickWhenEnabled);
  return { page, room };
}

interface Clicks {
  /** When the button was enabled, by a clock that no test sets. */
  enabledAt: number[];
  /** How many calls were denied. */
  denied: number;
}

/** Runs in the page: clicks as soon as the button is enabled, and again if the click was too early. */
function clickWhenEnabled(): void {
  const clicks: Clicks = { enabledAt: [], denied: 0 };
  Object.assign(globalThis, { clicks });
  const button = document.querySelector<HTMLButtonElement>('[aria-label="Send when allowed"]');
  const panel = document.querySelector("#panel");
  if (!button || !panel) throw new Error('The page has no button "Send when allowed".');
  let wasDisabled = button.disabled;
  let marks = 0;
  new MutationObserver(() => {
    if (wasDisabled && !button.disabled) {
      clicks.enabledAt.push(performance.timeOrigin + performance.now());
      button.click();
    }
    wasDisabled = button.disabled;
    // The chart marks each denial for 30 s.
    const now = panel.querySelectorAll("[data-denied]").length;
    if (now > marks) {
      clicks.denied += now - marks;
      button.click();
    }
    marks = now;
  }).observe(panel, { subtree: true, childList: true, characterData: true, attributes: true });
}

/** A page that can run a function: one of Playwright, or a hidden tab. */
type Runs = Pick<HiddenTab, "evaluate">;

const clicksOf = (page: Runs): Promise<Clicks> =>
  page.evaluate(() => (globalThis as unknown as { clicks: Clicks }).clicks);

/** Makes the page wait for a token four times. Returns by how many ms its button was late. */
async function measure(page: Runs, room: Room): Promise<number[]> {
  const late: number[] = [];
  let denied = 0;
  let enabledAt = 0;
  for (let wait = 0; wait < WAITS; wait++) {
    const retryAt = await drain(room);
    // An earlier enabling does not count: it may have been for a token that the drain took as soon as it arrived.
    const before = Math.max(enabledAt, retryAt - TOKEN_MS / 2);
    enabledAt = await vi.waitUntil(async () => (await clicksOf(page)).enabledAt.find((at) => at > before), 20_000);
    const lateMs = enabledAt - retryAt;
    late.push(lateMs);
    // A write of the bucket at `retryAt` or later shows that the click was accepted.
    await expect.poll(async () => (await room.snapshot("send")).ts, { timeout: 10_000 }).toBeGreaterThan(retryAt - 1);
    // The page and the server read one clock, to the millisecond, so a click that is not early is not denied.
    const { denied: deniedSoFar } = await clicksOf(page);
    if (lateMs >= 1) expect(deniedSoFar).toBe(denied);
    denied = deniedSoFar;
  }
  return late;
}

/** Takes tokens until a call is denied. Returns when the next token arrives. */
async function drain({ client, name: room }: Room): Promise<number> {
  for (;;) {
    const status = await client.mutation(api.stage.burst.send, { room, count: 1, reserve: false });
    if (!status.ok) return status.retryAt;
  }
}

function report(story: string, late: readonly number[]): void {
  console.log(`${story}: enabled ${late.map((ms) => Math.round(ms)).join(", ")} ms after retryAt`);
}

function expectInTime(late: readonly number[]): void {
  expect(Math.min(...late)).toBeGreaterThan(-CLOCK_ERROR_MS);
  expect(Math.max(...late)).toBeLessThan(TOKEN_MS);
}

it("an undisturbed page: a click as soon as the button is enabled is accepted", async () => {
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
  const room = await prepareRoom();
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
