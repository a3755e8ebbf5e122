/** Each panel's story, on the built page. */
import { ConvexHttpClient } from "convex/browser";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { api } from "../convex/_generated/api.js";
import { launch, open, type Opened, times } from "./chromium.js";
import { Site } from "./site.js";

let browser: Browser;
let site: Site;
beforeAll(async () => {
  [browser, site] = await Promise.all([launch(), Site.open()]);
});
afterAll(async () => {
  await browser.close();
  await site.stop();
});

let opened: Opened;
let page: Page;
let room: string;
beforeEach(async () => {
  const url = site.room("story");
  room = new URL(url).searchParams.get("room") ?? "";
  opened = await open(browser, url);
  ({ page } = opened);
});
afterEach(async () => {
  await page.context().close();
  expect(opened.complaints).toEqual([]);
});

const panel = (title: string): Locator => page.getByRole("region", { name: title });
const button = (name: string): Locator => page.getByRole("button", { name, exact: true });
/** Waits until the text is there. */
const see = (where: Locator, text: string | RegExp) => where.getByText(text).first().waitFor();
const backend = () => new ConvexHttpClient(site.url);

describe("a limit under your hands", () => {
  const hands = () => panel("A limit under your hands");

  it("calls are admitted until the bucket is empty, then denied with the wait", async () => {
    await see(hands(), "10.0");
    await see(hands(), "No calls in the last minute");
    await button("Send 5").click();
    await see(hands(), "5 tokens: admitted. 5 left.");
    await button("Send 5").click();
    await see(hands(), /^5 tokens: admitted/);
    await button("Send 5").click();
    await see(hands(), /^5 tokens: denied. The same call succeeds in \d\.\d\ss\.$/);
    await hands().getByText("No calls in the last minute").waitFor({ state: "detached" });
  });

  it("a reservation is owed, and paid as time passes", async () => {
    await times(3, () => button("Reserve 5").click());
    await see(hands(), /^5 tokens: reserved. The work may run in 2\.\d\ss\.$/);
    await see(hands(), "tokens owed");
    await see(hands(), /^[1-9]\.\d$/);
    await button("Send 1").click();
    await see(hands(), /^1 token: admitted/);
  });

  it("hammering admits no more than the bucket held and what has arrived since", async () => {
    await button("Hammer").click();
    await button("Hammer").and(page.locator("[aria-pressed=true]")).waitFor();
    await button("Hammer").and(page.locator("[aria-pressed=false]")).waitFor();
    const seconds = await backend().query(api.playground.history, { room });
    const total = (of: "admitted" | "denied" | "reserved") => seconds.reduce((sum, row) => sum + row[of], 0);
    const [first, last] = [seconds[0]?.second ?? 0, seconds.at(-1)?.second ?? 0];
    expect(total("admitted")).toBeGreaterThanOrEqual(10);
    expect(total("admitted")).toBeLessThanOrEqual(10 + 2 * (last - first + 1));
    expect(total("denied")).toBeGreaterThan(0);
    expect(total("reserved")).toBe(0);
    // Both are drawn.
    expect(await page.locator(".recharts-bar-rectangle path[fill='var(--stop)']").count()).toBeGreaterThan(0);
    expect(await page.locator(".recharts-bar-rectangle path[fill='var(--go)']").count()).toBeGreaterThan(0);
  });

  it("the limit can be changed while it is in use: kind, period, rate, capacity, reserve", async () => {
    await page.getByLabel("Capacity").fill("20");
    await see(hands(), "at most 20 are saved up");
    // What was full is not full any more: raising grants nothing.
    await button("Send 1").click();
    await see(hands(), /^1 token: admitted/);
    await page.getByText("Fixed window").click();
    await page.getByText("1 min", { exact: true }).click();
    await page.getByLabel("Rate").fill("3");
    await page.getByLabel("Reservable").fill("0");
    await see(
      hands(),
      "Tokens arrive 3 at the start of each window of minute; at most 20 are saved up, at most 0 may be owed.",
    );
    const snapshot = await backend().query(api.playground.hands, { key: room });
    expect(snapshot.config).toMatchObject({
      kind: "fixed window",
      rate: 3,
      period: 60_000,
      capacity: 20,
      maxReserved: 0,
    });
  });

  it("a call that can never be served is misuse, and the page says so", async () => {
    await button("No bursts: evenly spaced work").click();
    await see(hands(), "at most 0 are saved up");
    await button("Send 1").click();
    await see(hands(), /count 1 can never be served/);
    await button("Reserve 5").click();
    await see(hands(), /^5 tokens: reserved/);
  });

  it("a reset makes the bucket full", async () => {
    await times(2, () => button("Send 5").click());
    await button("Reset").click();
    await see(hands(), "Reset: the bucket is full again.");
    await see(hands(), "10.0");
  });
});

describe("failed logins", () => {
  const logins = () => panel("Failed logins");

  it("five wrong passwords lock the account, for the right one too, until the link in the mail", async () => {
    await see(logins(), "5 guesses left");
    for (const left of ["4 guesses", "3 guesses", "2 guesses", "1 guess", "0 guesses"]) {
      await button("Log in").click();
      await see(logins(), `Wrong password. ${left} left.`);
    }
    await see(logins(), "Locked");
    await see(logins(), /again in 5\smin \d+\ss/);
    await button("correct horse").click();
    await button("Log in").click();
    await see(logins(), "Locked, whatever the password is.");
    await button("Mail link").click();
    await see(logins(), "Unlocked with the link in the mail.");
    await button("Log in").click();
    await see(logins(), "Welcome, Ada.");
  });

  it("a success resets the count", async () => {
    for (const left of ["4 guesses", "3 guesses"]) {
      await button("Log in").click();
      await see(logins(), `Wrong password. ${left} left.`);
    }
    await page.getByLabel("Ada's password").fill("correct horse");
    await button("Log in").click();
    await see(logins(), "Welcome, Ada. The limit is reset.");
    await see(logins(), "5 guesses left");
  });
});

describe("two windows", () => {
  const ann = () => page.getByRole("group", { name: "Ann's window" });
  const ben = () => page.getByRole("group", { name: "Ben's window" });

  it("what one takes the other sees; both wait for the same moment, and go on by themselves", async () => {
    await ben().getByRole("img", { name: "5 of 5 left" }).waitFor();
    await button("Send as Ann").click();
    await ben().getByRole("img", { name: "4 of 5 left" }).waitFor();
    // More than time can give back meanwhile.
    await times(5, () => button("Send anyway as Ben").click());
    await see(ann(), /^Again in [12] s$/);
    await see(ben(), /^Again in [12] s$/);
    expect(await button("Send as Ann").isDisabled()).toBe(true);
    await see(ann(), "Go ahead");
    await see(ben(), "Go ahead");
    await button("Send as Ann").click();
    await see(ann(), "Sent.");
  });

  it("a denial that is thrown reaches the page with its data", async () => {
    await times(7, () => button("Send anyway as Ann").click());
    await see(ann(), /^Thrown: RateLimited, retryAt in [0-2]\.\d\ss\.$/);
  });
});

describe("the queue", () => {
  const queue = () => panel("A queue for a language model");
  const ask = (tokens: number) => button(`Ask for ${tokens.toLocaleString("en")} tokens`).click();

  it("jobs run at the moment they were promised, never earlier, in the order in which they were asked", async () => {
    await see(queue(), "No jobs yet.");
    await ask(400);
    await see(queue(), "400 tokens: there are enough, it runs now.");
    await ask(100);
    await see(queue(), /^100 tokens: promised to run in 0\.\d\ss\.$/);
    await ask(100);
    await see(queue(), /^100 tokens: promised to run in [01]\.\d\ss\.$/);
    for (const number of [1, 2, 3]) {
      await queue()
        .getByRole("listitem")
        .filter({ hasText: `Job ${number}` })
        .getByText(/^ran \+\d+ ms$/)
        .waitFor();
    }
    const jobs = await backend().query(api.playground.jobs, { room });
    expect(jobs.map(({ status }) => status)).toEqual(["done", "done", "done"]);
    for (const { promisedAt, startedAt } of jobs) expect(startedAt).toBeGreaterThanOrEqual(promisedAt);
    const promises = jobs.map(({ promisedAt }) => promisedAt);
    expect(promises).toEqual([...promises].sort((a, b) => a - b));
  });

  it("a cancelled job gives its tokens back, and the next one is promised an earlier moment", async () => {
    await ask(400);
    await ask(1000);
    await see(queue(), /^1000 tokens: promised to run in [45]\.\d\ss\.$/);
    await button("Cancel job 2").click();
    await see(queue(), "Job 2 is cancelled and its 1000 tokens are given back.");
    await ask(400);
    await see(queue(), /^400 tokens: promised to run in [01]\.\d\ss\.$/);
    const jobs = await backend().query(api.playground.jobs, { room });
    expect(jobs.map(({ status }) => status)).toEqual(["running", "cancelled", "queued"]);
  });

  it("a queue that is full says when there is room", async () => {
    await times(6, () => ask(1000));
    await see(queue(), /^The queue is full. Room for this job in \d\.\d\ss\.$/);
  });
});

describe("the hot limit", () => {
  const hot = () => panel("A hot limit, on many rows");

  it("calls are spread over rows, and all tokens of all rows can be had", async () => {
    await hot().getByRole("img", { name: "400 of 400 tokens on 0 rows" }).waitFor();
    await button("100 calls").click();
    await see(hot(), "100 calls: 100 admitted, 0 denied.");
    await hot()
      .getByRole("img", { name: /tokens on 8 rows$/ })
      .waitFor();
    for (const calls of [200, 300, 400, 500]) {
      await button("100 calls").click();
      await see(hot(), `${calls} calls: `);
    }
    await see(hot(), /^500 calls: 4\d\d admitted, [1-9]\d? denied\.$/);
  });

  it("the number of rows changes under load, and no token is made", async () => {
    await button("100 calls").click();
    await see(hot(), "100 calls: 100 admitted");
    let admitted = 100;
    for (const [shards, calls] of [
      ["16", 200],
      ["4", 300],
      ["1", 400],
    ] as const) {
      const before = await backend().query(api.playground.hot, { key: room });
      await hot().getByText(shards, { exact: true }).click();
      await button("100 calls").click();
      await see(hot(), `${calls} calls: `);
      await hot()
        .getByRole("img", { name: new RegExp(`on ${shards} rows$`) })
        .waitFor();
      const total = Number(/: (\d+) admitted/.exec(await hot().getByRole("status").innerText())?.[1]);
      const after = await backend().query(api.playground.hot, { key: room });
      const arrived = (20 * (after.ts - before.ts)) / 1000;
      // To a millionth of a token, which the sum of floating point numbers may be off by.
      expect(after.value).toBeLessThanOrEqual(before.value + arrived - (total - admitted) + 1e-6);
      admitted = total;
    }
  });
});
