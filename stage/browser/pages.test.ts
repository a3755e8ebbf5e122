/** The page as a whole: two pages at once, a server that stops, a wrong clock, the keyboard, and autoplay. */
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { api } from "../convex/_generated/api.js";
import { Room } from "./room.js";
import { openPage, site } from "./visits.js";

async function visit(...args: Parameters<typeof openPage>): Promise<Page> {
  const page = await openPage(...args);
  await page.getByText("Live", { exact: true }).waitFor();
  return page;
}

const button = (page: Page, name: string): Locator => page.getByRole("button", { name, exact: true });
const tab = (page: Page, name: string): Locator => page.getByRole("tab", { name, exact: true });
const image = (page: Page, name: string | RegExp) => page.getByRole("img", { name }).first().waitFor();

describe("two pages", () => {
  it("stay in step, in every tab", async () => {
    const url = site.room("two");
    await new Room(site, url).slow("send");
    const [one, other] = [await visit(url), await visit(url)];
    await button(one, "Send 5").click();
    await image(other, "5 of 10 tokens");
    await one.getByLabel("capacity of send").fill("33");
    await other.getByText("33 at most").waitFor();
    for (const page of [one, other]) {
      await tab(page, "Queue LLM calls").click();
      await page.getByLabel("A promise").check();
    }
    await button(other, "Ask for 400 tokens").click();
    await button(other, "Ask for 1,000 tokens").click();
    await button(one, "Cancel job 2").click();
    await other.getByRole("listitem").getByText("cancelled").waitFor();
    for (const page of [one, other]) await tab(page, "Lock out guessers").click();
    await button(other, "Log in").click();
    await image(one, "4 guesses left");
  });

  it("wait for the same time, and allow the call again by themselves", async () => {
    const url = site.room("wait");
    const room = new Room(site, url);
    await room.edit("send", { rate: 60, period: 60_000, capacity: 5 });
    const [one, other] = [await visit(url), await visit(url)];
    await button(one, "Send 5").click();
    for (const page of [one, other]) {
      await page.getByLabel("Verdict").getByText("come back in").waitFor();
      expect(await button(page, "Send when allowed").isDisabled()).toBe(true);
    }
    for (const page of [one, other]) await page.getByLabel("Verdict").getByText("5 tokens: go ahead").waitFor();
    await button(other, "Send when allowed").click();
    await other.getByText("5 tokens · 0 left").waitFor();
  });
});

it("the page shows that its server has stopped, disables what needs it, and continues when it is back", async () => {
  const page = await visit(site.room("restart"));
  await button(page, "Send 5").click();
  await page.getByText("5 tokens · 5 left").waitFor();
  const queue = await visit(site.room("restart", "queue"));
  await button(queue, "A job of 100 tokens").click();
  await queue.getByText("1 job of 100 tokens is in the queue.").waitFor();

  await site.stop();
  await page.getByText("Disconnected, trying again").waitFor();
  // In each tab, the controls that call the backend are disabled. Those of `works` do not need it.
  const works = /^(Copy the|Switch to|correct horse$|Key$|Note$)/;
  for (const name of await page.getByRole("tab").allTextContents()) {
    await tab(page, name).click();
    const enabled = await page
      .locator("#panel :is(button, input:not([type=checkbox], [type=radio], [type=range]), select):enabled")
      .evaluateAll((controls) => controls.map((it) => it.getAttribute("aria-label") ?? it.textContent));
    expect({ [name]: enabled.filter((label) => !works.test(label)) }).toEqual({ [name]: [] });
  }
  await tab(page, "Stop spam").click();

  await site.start();
  // Convex's client waits for up to 24 s between two attempts to connect: 16 s and a half more at random. It tries at once when the
  // browser says that it is online again.
  for (const each of [page, queue]) await each.evaluate(() => window.dispatchEvent(new Event("online")));
  await page.getByText("Live", { exact: true }).waitFor();
  // The queue was in memory, too. No sentence speaks of its jobs any more.
  await queue.getByText("Nothing waits yet.").waitFor();
  expect(await queue.getByText("is in the queue").count()).toBe(0);
  // The bucket was in memory, so it is full again.
  await button(page, "Send 5").click();
  await page.getByText("5 tokens · 5 left").first().waitFor();
});

describe.each([
  ["behind", -5 * 60_000],
  ["ahead", 5 * 60_000],
])("a browser whose clock is five minutes %s", (_where, clockError) => {
  it("counts down to the server's retryAt, and the call is allowed then", async () => {
    const url = site.room("clock");
    await new Room(site, url).edit("send", { rate: 30, period: 60_000, capacity: 1 });
    const page = await visit(url, { clockError });
    await page.getByLabel("count").fill("1");
    // At least one of these calls comes before the next token.
    await button(page, "Send 1").click();
    await button(page, "Send 1").click();
    await page
      .getByLabel("Verdict")
      .getByText(/come back in/)
      .waitFor();
    await page.getByLabel("Verdict").getByText("1 token: go ahead").waitFor();
    await button(page, "Send when allowed").click();
    await page.getByRole("status").getByText("1 token · 0 left").waitFor();
    expect(await page.evaluate(() => Date.now())).toSatisfy((now: number) => Math.abs(now - Date.now()) > 4 * 60_000);
  });

  it("draws the current state", async () => {
    const page = await visit(site.room("clock"), { clockError });
    await button(page, "Send 5").click();
    await page.getByText("5 tokens · 5 left").waitFor();
    // The bucket is full again after 2.5 s, not earlier.
    await image(page, /^[5-9] of 10 tokens$/);
    await image(page, "10 of 10 tokens");
    await tab(page, "Queue LLM calls").click();
    await page.getByLabel("A promise").check();
    await button(page, "Ask for 400 tokens").click();
    await page.getByText(/^ran \+\d+ ms$/).waitFor();
  });
});

it("the app's HTTP API is served next to the page, with its limits", async () => {
  const get = () => fetch(`${site.url}/http/api/hello`);
  const answers = [await get(), await get(), await get(), await get()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(answers[3]?.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
});

it("the focus is always visible, and the tabs are one stop of the Tab key, with arrow keys that wrap around", async () => {
  const page = await visit(site.room("keys", "rollback"));
  await tab(page, "It rolls back").focus();
  await page.keyboard.press("ArrowLeft");
  const names = await page.getByRole("tab").allTextContents();
  expect(await page.getByRole("tab", { selected: true }).textContent()).toBe(names.at(-1));
  await page.keyboard.press("Home");
  await page.keyboard.press("Tab");
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  expect(await focused()).toBe("Send");
  await page.keyboard.press("Enter");
  await page.getByText("1 call: 1 sent, 0 threw, 0 denied.").waitFor();
  expect(await page.evaluate(() => getComputedStyle(document.activeElement ?? document.body).outlineStyle)).toBe(
    "solid",
  );
});

it("a link to a tab shows it, also on a phone, and Back returns to the previous tab", async () => {
  const page = await visit(site.room("link", "admin"), { viewport: { width: 390, height: 844 } });
  const isInSight = async (name: string) => {
    const box = await tab(page, name).boundingBox();
    return box !== null && box.x >= 0 && box.x + box.width <= 390 && box.y >= 0 && box.y + box.height <= 844;
  };
  const isShown = async (name: string) => {
    await page.getByRole("tabpanel", { name }).waitFor();
    await expect.poll(() => isInSight(name)).toBe(true);
  };
  await isShown("Support desk");
  await tab(page, "HTTP 429").click();
  await isShown("HTTP 429");
  await page.goBack();
  await isShown("Support desk");
  await page.goForward();
  await isShown("HTTP 429");
});

it.each([320, 640])("at %i px, as on a screen at 400 % or 200 %, nothing is cut off", async (width) => {
  const page = await visit(site.room("zoom"), { viewport: { width, height: 400 } });
  for (const name of await page.getByRole("tab").allTextContents()) {
    await tab(page, name).click();
    const rights = await page
      .getByRole("tabpanel", { name })
      .locator("> :first-child button, > :first-child label")
      .evaluateAll((controls) => controls.map((control) => control.getBoundingClientRect().right));
    expect({ [name]: rights.filter((right) => right > width - 16) }).toEqual({ [name]: [] });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  }
});

it("every tab begins with one sentence, and then says what to try", async () => {
  const page = await visit(site.room("leads"));
  for (const name of await page.getByRole("tab").allTextContents()) {
    await tab(page, name).click();
    const lead = page.getByRole("tabpanel", { name }).locator("p").first();
    await lead.getByText("Try:").waitFor();
    expect(await lead.innerText()).toMatch(/^[A-Z][^.]+\.\s+Try: [^.]+\.$/);
  }
});

it("a button shows that its call is pending", async () => {
  const page = await openPage("about:blank");
  const held: (() => void)[] = [];
  await page.routeWebSocket(/sync/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((text) => {
      const send = () => {
        server.send(text);
      };
      if (String(text).includes("stage/burst:send")) held.push(send);
      else send();
    });
  });
  await page.goto(site.room("slow"));
  await page.getByText("Live", { exact: true }).waitFor();
  await button(page, "Send 5").click();
  const pending = page.locator("button[aria-busy=true]");
  await pending.waitFor();
  expect(await pending.allTextContents()).toEqual(["Send 5"]);
  for (const send of held) send();
  await pending.waitFor({ state: "detached" });
  await page.getByText("5 tokens · 5 left").waitFor();
});

describe.each([1280, 390])("nothing jumps at %i px", (width) => {
  it("neither while it loads nor while it is used", async () => {
    const page = await visit(site.room("calm"), { viewport: { width, height: 900 } });
    await image(page, "10 of 10 tokens");
    for (const name of ["Send 5", "Send 5", "Send 5", "Reserve 5", "One ms before?", "Refill"]) {
      await button(page, name).press("Enter");
    }
    await page.getByText("The bucket is full again.").waitFor();
    expect(await shiftsOf(page)).toEqual([]);
  });
});

/** The layout shifts of the page, each with the first element that moved. */
async function shiftsOf(page: Page): Promise<string[]> {
  return await page.evaluate(
    () =>
      new Promise<string[]>((resolve) => {
        new PerformanceObserver((list) => {
          const entries = list.getEntries() as unknown as { value: number; sources: { node?: Element }[] }[];
          resolve(entries.map(({ value, sources }) => `${value}: ${sources[0]?.node?.outerHTML ?? ""}`.slice(0, 200)));
        }).observe({ type: "layout-shift", buffered: true });
        // Without a shift, the observer is never called.
        requestAnimationFrame(() =>
          requestAnimationFrame(() => {
            resolve([]);
          }),
        );
      }),
  );
}

it("a tab whose query fails shows an error, and the other tabs still work", async () => {
  const page = await openPage("about:blank");
  await page.routeWebSocket(/\/sync$/, (socket) => {
    const server = socket.connectToServer();
    let failing: number | undefined;
    socket.onMessage((text) => {
      const { modifications = [] } = JSON.parse(String(text)) as {
        modifications?: { udfPath: string; queryId: number }[];
      };
      failing ??= modifications.find(({ udfPath }) => udfPath === "stage/rollback:delivered")?.queryId;
      server.send(text);
    });
    server.onMessage((text) => {
      const message = JSON.parse(String(text)) as { modifications?: { queryId: number }[] };
      const modifications = message.modifications?.map((modification) =>
        modification.queryId === failing
          ? {
              type: "QueryFailed",
              queryId: failing,
              errorMessage: "Uncaught Error: out of order",
              logLines: [],
              journal: null,
            }
          : modification,
      );
      socket.send(JSON.stringify({ ...message, ...(modifications && { modifications }) }));
    });
  });
  await page.goto(site.room("failing", "rollback"));
  await page.getByRole("alert").getByText("This tab has failed.").waitFor();
  await tab(page, "Stop spam").click();
  await button(page, "Send 5").click();
  await page.getByText("5 tokens · 5 left").waitFor();
});

/** Holds back the page's requests of an address until the returned function is called. */
async function holdBack(page: Page, address: RegExp): Promise<() => void> {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(address, async (route) => {
    await released;
    await route.continue();
  });
  return () => {
    release();
  };
}

describe("left alone", () => {
  const playing = (name: string, tab?: string) => site.room(name, tab).replace("&autoplay=off", "");

  it("the page plays by itself until the first input", async () => {
    const url = playing("plays");
    const page = await openPage("about:blank");
    await page.clock.install();
    await page.goto(url);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.clock.runFor(5000);
    await page.getByText("Playing by itself").waitFor();
    await page
      .getByRole("status")
      .getByText(/^5 tokens · /)
      .waitFor();
    await page.keyboard.press("Shift");
    await page.getByText("The page is yours.").waitFor();
    const room = new Room(site, url).name;
    const client = new Room(site, url).client;
    const sent = await client.query(api.stage.rollback.delivered, { room });
    expect(sent.length).toBeGreaterThan(0);
  });

  it("autoplay waits for the result of each setting under load", async () => {
    const page = await openPage("about:blank");
    await page.clock.install();
    const simulate = await holdBack(page, /\/worker-[^/]*\.js$/);
    await page.goto(playing("load", "hot"));
    await page.getByText("Live", { exact: true }).waitFor();
    const calls = page.getByLabel("Calls a second");
    await page.clock.runFor(5000);
    await page.getByText("Playing by itself").waitFor();
    await page.clock.runFor(30_000);
    expect(await calls.inputValue()).toBe("500");
    expect(await page.getByText("…", { exact: true }).count()).toBe(2);
    simulate();
    await expect.poll(() => page.getByText(/ % failed$/).count(), { timeout: 20_000 }).toBe(2);
    await page.clock.runFor(4500);
    expect(await calls.inputValue()).toBe("1000");
  });

  it("the page does not play for a visitor who wants less motion", async () => {
    const page = await openPage("about:blank", { reducedMotion: "reduce" });
    await page.clock.install();
    await page.goto(playing("calm"));
    await page.getByText("Live", { exact: true }).waitFor();
    // The page's own clock has moved by 5 s. Autoplay, which begins after 3 s without input, would have begun.
    await page.clock.runFor(5000);
    expect(await page.getByText("The page is yours.").count()).toBe(1);
    expect(await page.getByText("No call yet.").count()).toBe(1);
  });
});

describe.each(["light", "dark"] as const)("in %s colours", (colorScheme) => {
  it("a button switches the colours, and the page remembers the choice", async () => {
    const page = await visit(site.room("theme"), { colorScheme });
    const other = colorScheme === "dark" ? "light" : "dark";
    await button(page, `Switch to ${other} colours`).click();
    await page.reload();
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe(other);
  });
});
