/** What the tabs do beside their stories. */
import { afterEach, describe, expect, it } from "vitest";
import { api } from "../convex/_generated/api.js";
import { visit, WIDE } from "./visitor.js";
import { complaints, site } from "./visits.js";

afterEach(() => {
  expect(complaints()).toEqual([]);
});

it("the support desk names the plan of a key, and what it gives", async () => {
  const visitor = await visit("Plans", WIDE);
  const { page, room } = visitor;
  await visitor.use(page.getByLabel("Pro"), "Space");
  await visitor.press("Call");
  await visitor.see("1 call · 999 left");
  await page.getByRole("tab", { name: "Support desk" }).click();
  await visitor.use(page.getByRole("radio", { name: "Plans" }), "Space");
  const row = page.getByRole("row").filter({ hasText: "(this room) · pro" });
  await row.getByRole("cell", { name: "999", exact: true }).waitFor();
  await visitor.see(`${room.name}: 1,000 at once, 1,000 a month`);
});

it("the support desk blocks and raises any key of any limit, also one that nobody has used", async () => {
  const visitor = await visit("Support desk", WIDE);
  const { page } = visitor;
  const key = `${visitor.room.name}@example.com`;
  const row = page.getByRole("row").filter({ hasText: key });
  for (const limit of ["Logins", "Messages", "Model", "Plans"]) {
    await visitor.use(page.getByRole("radio", { name: limit }), "Space");
    await page.getByLabel("Key", { exact: true }).fill(key);
    // A login is of this room.
    expect(await visitor.button("Try a login").isDisabled()).toBe(true);
    await visitor.press("Block");
    await row.locator(".text-stop").getByText("blocked · until removed").waitFor();
    await visitor.press("Raise 10×");
    await row.getByText(/^[\d,]+ at once, [\d,]+ an? \w+ · until removed$/).waitFor();
  }
});

describe("the burst", () => {
  it("hammering gets as many calls through as the bucket held, and no more", async () => {
    const { page, room } = await visit("Stop spam", WIDE, (room) => room.slow("send"));
    const hammer = page.getByRole("button", { name: "Hammer" });
    await hammer.click();
    await hammer.and(page.locator("[aria-pressed=true]")).waitFor();
    await hammer.and(page.locator("[aria-pressed=false]")).waitFor();
    await page.getByRole("status").getByText("denied").first().waitFor();
    expect(await room.client.query(api.stage.rollback.delivered, { room: room.name })).toHaveLength(10);
    // The chart marks the denials.
    expect(await page.locator("[data-denied]").count()).toBeGreaterThan(0);
  });

  it("the wait counts down, and ends in a call that is accepted", async () => {
    const visitor = await visit("Stop spam", WIDE, (room) => room.edit("send", { rate: 4 }));
    const verdict = visitor.page.getByLabel("Verdict");
    await visitor.page.getByLabel("count").fill("10");
    await visitor.press("Send 10");
    await verdict.getByText("come back in").waitFor();
    expect(await visitor.button("Send when allowed").isDisabled()).toBe(true);
    await verdict.getByText("10 tokens: go ahead").waitFor();
    await visitor.press("Send when allowed");
    await visitor.see(/^10 tokens · 0 left$/);
  });

  it("a number below one does not read as one", async () => {
    const visitor = await visit("Stop spam", WIDE, (room) => room.slow("send"));
    await visitor.page.getByLabel("count").fill("9.04");
    await visitor.press("Send 9.04");
    await visitor.page.getByRole("tabpanel").getByText("0.9", { exact: true }).waitFor();
    await visitor.press("Send 1");
    await visitor.see(/^1 token · come back in /);
  });

  it("a refill makes the bucket full", async () => {
    const visitor = await visit("Stop spam", WIDE, (room) => room.slow("send"));
    await visitor.press("Send 5");
    await visitor.image("5 of 10 tokens");
    await visitor.press("Refill");
    await visitor.image("10 of 10 tokens");
  });
});

describe("the code", () => {
  it("begins with the called function, leaves out what only the page needs, and links to the whole file", async () => {
    const { page } = await visit("It rolls back", WIDE);
    for (const name of await page.getByRole("tab").allTextContents()) {
      await page.getByRole("tab", { name, exact: true }).click();
      await page.getByRole("tabpanel", { name }).waitFor();
      const code = page.getByRole("region", { name: "Code" });
      expect(await code.locator("pre").first().innerText()).toMatch(
        /^(\/\*\*[^\n]+\n)?export (const \w+ = (mutation|httpAction)\(|async function )/,
      );
      expect(await code.innerText()).not.toMatch(/^import |configOf|For the page/m);
      if (name === "It rolls back") expect(await code.innerText()).toMatch(/const author = callerOf\([^]*key: author,/);
      const file = (await code.getByRole("link").first().getAttribute("href")) ?? "";
      expect((await fetch(site.url + file)).status).toBe(200);
    }
  });

  it("changes with the view of the tab", async () => {
    const { page } = await visit("Queue LLM calls", WIDE);
    const code = page.getByRole("region", { name: "Code" });
    await code.getByText("stage/convex/stage/queue.ts").waitFor();
    await page.getByLabel("A promise").check();
    await code.getByText("stage/convex/stage/promises.ts").waitFor();
    expect(await code.getByRole("link").count()).toBe(1);
    await page.getByLabel("rate of model").waitFor();
  });

  it("can be edited, and the limit changes while it is in use", async () => {
    const visitor = await visit("Stop spam", WIDE, (room) => room.slow("send"));
    const { page, room } = visitor;
    await visitor.press("Send 5");
    await page.getByLabel("capacity of send").fill("20");
    await visitor.see("20 at most");
    // A higher capacity grants nothing for the past.
    await visitor.image("5 of 20 tokens");
    await page.getByLabel("rate of send").fill("3");
    await page.getByLabel("period of send").selectOption("MINUTE");
    await visitor.see("3 a minute flow in, 20 at most");
    await page.getByLabel("period of send").selectOption("HOUR");
    await visitor.see("3 an hour flow in");
    await page.getByLabel("count").fill("4");
    await visitor.press("Send 4");
    await visitor.see(/^4 tokens · 1 left$/);
    expect((await room.snapshot("send")).config).toMatchObject({ rate: 3, period: 3_600_000, capacity: 20 });
  });

  it("says why a number is refused, with the library's message, and keeps the previous number", async () => {
    const visitor = await visit("Stop spam", WIDE);
    const { page, room } = visitor;
    const rate = page.getByLabel("rate of send");
    await rate.fill("-1");
    await page
      .getByLabel("About the code")
      .getByText(/rate.*-1/)
      .waitFor();
    await rate.fill("two");
    await page.getByLabel("About the code").getByText('"two" is not a number, so the rate of send stays 2.').waitFor();
    expect(await rate.getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("capacity of send").focus();
    expect(await rate.inputValue()).toBe("2");
    expect((await room.snapshot("send")).config).toMatchObject({ rate: 2 });
  });

  it("says that a count above the capacity can never be taken", async () => {
    const visitor = await visit("Stop spam", WIDE);
    await visitor.page.getByLabel("count").fill("11");
    await visitor.see("11 tokens can never be taken from a bucket of 10.");
    await visitor.press("Send 11");
    await visitor.see("11 tokens · more than the bucket can ever hold");
    await visitor.page.getByLabel("count").fill("-1");
    await visitor.see("-1 tokens can never be taken from a bucket of 10.");
  });

  it("shows the numbers that the backend uses", async () => {
    const { page, room } = await visit("Stop spam", WIDE);
    const { config } = await room.snapshot("send");
    await page.getByLabel("rate of send").waitFor();
    const shown = async (field: string) => Number(await page.getByLabel(`${field} of send`).inputValue());
    expect({
      rate: await shown("rate"),
      capacity: await shown("capacity"),
      maxReserved: await shown("maxReserved"),
    }).toEqual({ rate: config.rate, capacity: config.capacity, maxReserved: config.maxReserved });
  });
});

it("an admin's block applies in the room's own page, even to the right password", async () => {
  const visitor = await visit("Lock out guessers", WIDE);
  const { room } = visitor;
  const bucket = { name: "failedLogin" as const, key: room.name };
  await visitor.image("5 guesses left");
  await room.client.mutation(api.stage.admin.block, bucket);
  await visitor.see("by an admin");
  await visitor.press("correct horse");
  await visitor.press("Log in");
  await visitor.see("by an admin, for any password");
  await room.client.mutation(api.stage.admin.clear, bucket);
  await visitor.image("5 guesses left");
  await visitor.press("Log in");
  await visitor.see("Ada is logged in, and the count is reset.");
});

it("a right password resets the count", async () => {
  const visitor = await visit("Lock out guessers", WIDE);
  await visitor.press("Log in");
  await visitor.image("4 guesses left");
  await visitor.page.getByLabel("Ada's password").fill("correct horse");
  await visitor.press("Log in");
  await visitor.see("Ada is logged in, and the count is reset.");
  await visitor.image("5 guesses left");
});

describe("the queue", () => {
  it("starts jobs in order when their tokens are available, and starts no cancelled job", async () => {
    const visitor = await visit("Queue LLM calls", WIDE, async ({ client, name }) => {
      await client.mutation(api.stage.queue.spend, { room: name, tokens: 1_000_000 });
    });
    const { page, room } = visitor;
    const task = (number: number) => page.getByRole("listitem").filter({ hasText: `Job ${number}` });
    for (const number of [1, 2, 3]) {
      await visitor.press("A job of 100 tokens");
      await task(number).waitFor();
    }
    await visitor.press("Cancel job 2");
    await visitor.see("Job 2 is cancelled: those behind it move up.");
    await room.client.mutation(api.stage.queue.reset, { room: room.name });
    await task(3).getByText("answered", { exact: true }).waitFor();
    const [first, second, third] = await room.client.query(api.stage.queue.tasks, { room: room.name });
    expect(second).toMatchObject({ isCancelled: true });
    expect(second?.startedAt).toBeUndefined();
    expect(third?.startedAt).toBeGreaterThan(first?.startedAt ?? Infinity);
    await task(2).getByText("cancelled", { exact: true }).waitFor();
  });
});

describe("a provider that answers 429", () => {
  it("pauses the queue, and the denied job runs again before those behind it", async () => {
    const visitor = await visit("Queue LLM calls", WIDE);
    const { page, room } = visitor;
    const task = (number: number) => page.getByRole("listitem").filter({ hasText: `Job ${number}` });
    await visitor.image("100 of 100 tokens left");
    await page.getByText("The provider answers HTTP 200.").waitFor();
    await visitor.press("429 for 5 s from the provider");
    await page.getByText("The provider answers HTTP 429 for").waitFor();
    const until = await room.client.query(api.stage.queue.busyUntil, { room: room.name });
    // The bucket pays for the first one at once; the second one waits in any case. Few tokens come back soon after the pause.
    await room.client.mutation(api.stage.queue.spend, { room: room.name, tokens: 70 });
    await room.client.mutation(api.stage.queue.ask, { room: room.name, first: 1, jobs: 2, tokens: 30 });
    await task(1).getByText("got 429, runs again").waitFor();
    await page.getByText(/^The queue is paused for [\d.]+\ss\.$/).waitFor();
    await task(1).getByText("answered, run 2", { exact: true }).waitFor();
    await task(2).getByText("answered", { exact: true }).waitFor();
    await page.getByText("The queue is paused").waitFor({ state: "detached" });
    const [first, second] = await room.client.query(api.stage.queue.tasks, { room: room.name });
    expect(first).toMatchObject({ denied: 1 });
    expect(first?.startedAt).toBeGreaterThanOrEqual(until);
    expect(second?.denied).toBeUndefined();
    expect(second?.startedAt).toBeGreaterThan(first?.startedAt ?? Infinity);
  });

  it("100 jobs of one token are answered in the time that their tokens take", async () => {
    const visitor = await visit("Queue LLM calls", WIDE, async ({ client, name }) => {
      await client.mutation(api.stage.queue.spend, { room: name, tokens: 100 });
    });
    const { page, room } = visitor;
    const began = Date.now();
    await visitor.press("100 jobs of 1 token");
    await page.getByRole("listitem").filter({ hasText: "Job 100" }).getByText("answered", { exact: true }).waitFor();
    const tasks = await room.client.query(api.stage.queue.tasks, { room: room.name });
    const last = tasks.find(({ number }) => number === 100);
    expect((last?.startedAt ?? Infinity) - began).toBeLessThan(15_000);
  });
});

describe("the promise", () => {
  it("runs jobs at their promised times, never earlier, in the order in which they were asked", async () => {
    const visitor = await visit("Queue LLM calls", WIDE);
    const { page, room } = visitor;
    await page.getByLabel("A promise").check();
    await visitor.press("Ask for 400 tokens");
    await visitor.see("400 tokens: there are enough, it runs now.");
    await visitor.press("Ask for 100 tokens");
    await visitor.press("Ask for 100 tokens");
    for (const number of [1, 2, 3]) {
      await page
        .getByRole("listitem")
        .filter({ hasText: `Job ${number}` })
        .getByText(/^ran \+\d+ ms$/)
        .waitFor();
    }
    const jobs = await room.client.query(api.stage.promises.jobs, { room: room.name });
    expect(jobs.map(({ status }) => status)).toEqual(["done", "done", "done"]);
    for (const { promisedAt, startedAt } of jobs) expect(startedAt).toBeGreaterThanOrEqual(promisedAt);
    const promises = jobs.map(({ promisedAt }) => promisedAt);
    expect(promises).toEqual([...promises].sort((a, b) => a - b));
  });

  it("says when there will be room, if it is full", async () => {
    const visitor = await visit("Queue LLM calls", WIDE, (room) => room.edit("model", { rate: 1 }));
    await visitor.page.getByLabel("A promise").check();
    for (let asked = 1; asked <= 5; asked++) {
      await visitor.press("Ask for 1,000 tokens");
      await visitor.page
        .getByRole("list")
        .getByText(`Job ${Math.min(asked, 4)}`, { exact: true })
        .waitFor();
    }
    await visitor.see(/^The queue is full\. Room for this job in /);
  });
});

it("the curl line can be copied, and works", async () => {
  const visitor = await visit("HTTP 429", WIDE, (room) => room.slow("requests"));
  await visitor.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await visitor.press("Copy the curl line");
  await visitor.see("Copied");
  const line = await visitor.page.evaluate(() => navigator.clipboard.readText());
  const [, address = ""] = /^curl -i '(.+)'$/.exec(line) ?? [];
  expect((await fetch(address)).status).toBe(200);
  // The page shows the effect of a call from a terminal.
  await visitor.image("4 of 5 requests left");
});
