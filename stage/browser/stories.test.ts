/** Each tab's story on the built page: wide and narrow, light and dark, with the mouse and with the keyboard. */
import type { Locator, Page } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import { api } from "../convex/_generated/api.js";
import { issuesOf } from "./axe.js";
import { times } from "./chromium.js";
import { Room } from "./room.js";
import { complaints, openPage, site } from "./visits.js";

afterEach(() => {
  expect(complaints()).toEqual([]);
});

/** How a story is run: the screen, the colours and the input. */
interface Way {
  width: number;
  colorScheme: "light" | "dark";
  hand: "mouse" | "keyboard";
}
const WIDE: Way = { width: 1280, colorScheme: "light", hand: "mouse" };
/** The ways cover each width, colour and hand. EFFORT=1 adds other combinations of them. */
const WAYS: Way[] = [
  WIDE,
  { width: 390, colorScheme: "dark", hand: "keyboard" },
  ...(Number(process.env["EFFORT"]) >= 1
    ? ([
        { width: 1280, colorScheme: "dark", hand: "keyboard" },
        { width: 390, colorScheme: "light", hand: "mouse" },
      ] as const)
    : []),
];

/** Four virtual seconds of 500 calls each take about a second on an idle machine. This one may be busy. */
const SIMULATION_MS = 60_000;

/** A visitor in a room of their own. */
class Visitor {
  constructor(
    readonly page: Page,
    readonly room: Room,
    readonly way: Way,
  ) {}

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  async press(name: string): Promise<void> {
    await this.use(this.button(name));
  }

  async use(control: Locator, key = "Enter"): Promise<void> {
    if (this.way.hand === "mouse") await control.click();
    else await control.press(key);
  }

  /** Waits until the text is visible. */
  async see(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }

  async image(name: string | RegExp): Promise<void> {
    await this.page.getByRole("img", { name }).first().waitFor();
  }
}

/** Opens the page, and goes to a tab as a visitor does. */
async function visit(tab: string, way: Way, prepare?: (room: Room) => Promise<void>): Promise<Visitor> {
  const room = new Room(site, site.room("story"));
  await prepare?.(room);
  const { width, colorScheme, hand } = way;
  const page = await openPage(room.url, { colorScheme, viewport: { width, height: 900 } });
  await page.getByText("Live", { exact: true }).waitFor();
  const goal = page.getByRole("tab", { name: tab, exact: true });
  if (hand === "mouse") await goal.click();
  else {
    const selected = page.getByRole("tab", { selected: true });
    const all = await page.getByRole("tab").allTextContents();
    const from = all.indexOf((await selected.textContent()) ?? "");
    await selected.focus();
    await times((all.indexOf(tab) - from + all.length) % all.length, () => page.keyboard.press("ArrowRight"));
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(tab);
  }
  await page.getByRole("tabpanel", { name: tab }).waitFor();
  return new Visitor(page, room, way);
}

const stories: Record<string, (way: Way) => Promise<Visitor>> = {
  "It rolls back": async (way) => {
    const visitor = await visit("It rolls back", way, (room) => room.slow("message"));
    const { page, room } = visitor;
    const left = async (outside: number, inside: number) => {
      await visitor.image(`A limiter outside: ${outside} of 10 tokens`);
      await visitor.image(`In the mutation: ${inside} of 10 tokens`);
    };
    const lost = async () => await page.getByRole("group", { name: "Lost tokens" }).innerText();
    await left(10, 10);
    await visitor.press("Send");
    await visitor.see("1 call: 1 sent, 0 threw, 0 denied.");
    await left(9, 9);
    for (let threw = 1; threw <= 5; threw++) {
      await visitor.press("Send, then throw");
      await visitor.see(`${1 + threw} calls: 1 sent, ${threw} threw, 0 denied.`);
    }
    await visitor.see(/as Convex counts: 2 rows read, 2 written, all undone\.$/);
    await left(4, 9);
    expect(await lost()).toMatch(/^outside\s*5\s+here\s*0$/);
    await visitor.press("60 at once");
    await visitor.see("66 calls: 10 sent, 5 threw, 51 denied.");
    await visitor.see(/as Convex counts: 1 row read, 0 written\.$/);
    await left(0, 0);
    expect(await lost()).toMatch(/^outside\s*5\s+here\s*0$/);
    // The backend agrees with the page: each side has used ten tokens, for ten messages here and for five outside.
    const messages = await room.client.query(api.stage.rollback.delivered, { room: room.name });
    expect(messages.filter((to) => to === "inside")).toHaveLength(10);
    expect(messages.filter((to) => to === "outside")).toHaveLength(5);
    return visitor;
  },

  "Go viral": async (way) => {
    const visitor = await visit("Go viral", way);
    const { page } = visitor;
    // The share of failed calls in %, when the simulation of the lane is done.
    const failed = async (name: string) => {
      const lane = page.locator(`[role=group][aria-label^='${name}'][aria-busy=false]`);
      const text = await lane.getByText(/ failed$/).innerText({ timeout: SIMULATION_MS });
      return Number(/^([\d.]+) % failed$/.exec(text)?.[1]);
    };
    expect(await failed("This package")).toBe(0);
    expect(await failed("The official component, 16 shards")).toBeGreaterThan(5);
    const shards = page.getByLabel("Shards of the official component");
    await shards.press("ArrowRight");
    expect(await failed("The official component, 64 shards")).toBeLessThan(5);
    await shards.press("Home");
    // The lane is never blank: it shows the last result until the next one arrives.
    const alone = page.getByRole("group", { name: "The official component, one shard" });
    await alone.getByText("Simulating …").waitFor();
    await alone.getByText(/^[\d.]+ % failed$/).waitFor();
    expect(await failed("The official component, one shard")).toBeGreaterThan(50);
    return visitor;
  },

  "Stop spam": async (way) => {
    const visitor = await visit("Stop spam", way, (room) => room.slow("send"));
    await visitor.image("10 of 10 tokens");
    await visitor.press("Send 5");
    await visitor.see("5 tokens · 5 left");
    await visitor.press("Send 5");
    await visitor.see("5 tokens · 0 left");
    await visitor.press("Send 5");
    await visitor.see(/^5 tokens · come back in \d+\sh \d+\smin$/);
    // The buttons ask the server for its answer at `retryAt`, and 1 ms before.
    await visitor.press("One ms before?");
    await visitor.see(/^5 tokens, asked at [\d.]+: 1 ms too early$/);
    await visitor.press("At that ms?");
    await visitor.see(/^5 tokens, asked at [\d.]+: that very millisecond$/);
    await visitor.press("Reserve 5");
    await visitor.see(/^5 tokens · runs in \d+\sh \d+\smin, without asking again$/);
    await visitor.see("tokens owed to work that has reserved them");
    return visitor;
  },

  "Queue LLM calls": async (way) => {
    const visitor = await visit("Queue LLM calls", way, async (room) => {
      await room.edit("model", { rate: 20 });
      // Half a day of tokens is owed, so that no job starts while the test runs.
      await room.client.mutation(api.stage.queue.spend, { room: room.name, tokens: 1_000_000 });
    });
    const { page } = visitor;
    const task = (number: number) => page.getByRole("listitem").filter({ hasText: `Job ${number}` });
    const goesFirst = async (number: number, place: string) => {
      await task(number).getByText(place, { exact: true }).waitFor();
    };
    await visitor.see("Nothing waits yet.");
    for (const number of [1, 2, 3]) {
      await visitor.press("A job of 100 tokens");
      await task(number).waitFor();
    }
    await goesFirst(1, "the next one");
    await goesFirst(2, "1 goes first");
    await goesFirst(3, "2 go first");
    await task(3)
      .getByText(/^in about 13\sh \d+\smin$/)
      .waitFor();
    await visitor.press("Cancel job 1");
    await visitor.see("Job 1 is cancelled: those behind it move up.");
    await goesFirst(1, "cancelled");
    await goesFirst(2, "the next one");
    await goesFirst(3, "1 goes first");
    await visitor.press("100 jobs of 1 token");
    await visitor.see("100 jobs of 1 token are in the queue.");
    await goesFirst(103, "101 go first");
    await visitor.press("Cancel job 103");
    await goesFirst(103, "cancelled");
    expect(await issuesOf(page)).toEqual([]);

    // The second way to wait: for a start time that is promised at once.
    await visitor.use(page.getByLabel("A promise"), "Space");
    await visitor.see("No jobs yet.");
    await visitor.press("Ask for 400 tokens");
    await visitor.see("400 tokens: there are enough, it runs now.");
    await visitor.press("Ask for 1,000 tokens");
    await visitor.see(/^1,000 tokens: promised to run in \d+\ss\.$/);
    await visitor.press("Cancel job 2");
    await visitor.see("Job 2 is cancelled and its 1,000 tokens are given back.");
    await visitor.press("Ask for 100 tokens");
    // This job gets the tokens of the cancelled job, so it waits for a tenth of the time.
    await visitor.see(/^100 tokens: promised to run in \d(\.\d)?\ss\.$/);

    // The third way to wait: for one of two places.
    await visitor.use(page.getByLabel("Two at once"), "Space");
    await visitor.see("Both places are free.");
    const run = (number: number) => page.getByRole("listitem").filter({ hasText: `Run ${number}` });
    for (const number of [1, 2]) {
      await visitor.press("Start a run");
      await run(number).waitFor();
    }
    await visitor.press("Start a run");
    await visitor.see(/^Both places are taken\. The first lease ends in [\d.]+\ss\.$/);
    await visitor.press("End run 2");
    await visitor.see("Run 2 has ended: its place is free.");
    await visitor.press("Kill run 1");
    await visitor.see("Run 1 died. Its place is free when the lease ends.");
    await visitor.press("Start a run");
    await visitor.see("It runs, and holds a place.");
    await visitor.press("Start a run");
    await visitor.see(/^Both places are taken/);
    return visitor;
  },

  "Lock out guessers": async (way) => {
    const visitor = await visit("Lock out guessers", way);
    await visitor.image("5 guesses left");
    for (const left of ["4 guesses", "3 guesses", "2 guesses", "1 guess", "0 guesses"]) {
      await visitor.press("Log in");
      await visitor.page.getByRole("status").getByText(`${left} left`).waitFor();
    }
    await visitor.see("Locked");
    await visitor.press("correct horse");
    await visitor.press("Log in");
    await visitor.see(/^for any password; next guess in [56]\smin \d+\ss$/);
    await visitor.press("Mail link");
    await visitor.see("with the link in the mail");
    await visitor.press("Log in");
    await visitor.see("Ada is logged in, and the count is reset.");
    return visitor;
  },

  "User + team + everyone": async (way) => {
    const visitor = await visit("User + team + everyone", way, async (room) => {
      await room.edit("byUser", { period: 86_400_000 });
      await room.slow("byTeam", "everyone");
    });
    for (const left of ["2, 4, 7", "1, 3, 6", "0, 2, 5"]) {
      await visitor.press("Upload as Ada");
      await visitor.see(`Ada · ${left} left for user, team, everyone`);
    }
    await visitor.press("Upload as Ada");
    await visitor.see(/^Ada · by user: none was charged, again in /);
    await visitor.image("Their team: 2 of 5 left");
    for (const left of ["2, 1, 4", "1, 0, 3"]) {
      await visitor.press("Upload as Ben");
      await visitor.see(`Ben · ${left} left for user, team, everyone`);
    }
    await visitor.press("Upload as Ben");
    await visitor.see(/^Ben · by team: none was charged, again in /);
    await visitor.image("Ben: 1 of 3 left");
    await visitor.image("Everyone: 3 of 8 left");
    return visitor;
  },

  "HTTP 429": async (way) => {
    const visitor = await visit("HTTP 429", way, (room) => room.slow("requests"));
    await visitor.image("5 of 5 requests left");
    await visitor.press("Send 6");
    await visitor.see("HTTP/1.1 429 Too Many Requests");
    await visitor.see("HTTP/1.1 200 OK");
    await visitor.image("0 of 5 requests left");
    for (const field of ["ratelimit-policy:", "ratelimit:", "retry-after:", "x-ratelimit-remaining:"]) {
      await visitor.see(field);
    }
    await visitor.see(/^Retry-After:/);
    return visitor;
  },

  "Pick a window": async (way) => {
    const visitor = await visit("Pick a window", way, (room) => room.slow("bucket", "fixed", "sliding"));
    for (let left = 4; left >= 0; left--) {
      await visitor.press("Call all four");
      for (const kind of ["Token bucket", "Fixed window", "Sliding window"]) {
        await visitor.image(`${kind}: ${left} of 5 left`);
      }
    }
    await visitor.press("Call all four");
    await visitor.see("by token bucket, fixed window, sliding window");
    await visitor.image(/^Calendar window: 1[4-9] of 20 left$/);
    return visitor;
  },

  Plans: async (way) => {
    const visitor = await visit("Plans", way);
    const { page } = visitor;
    const month = "until 1 [A-Z][a-z]+, 00:00 Los Angeles";
    const used = async (text: string) => {
      await page
        .getByLabel("Quota")
        .getByText(new RegExp(`^${text} used ${month}$`))
        .waitFor();
    };
    await used("of 100");
    await visitor.image("100 of 100 calls left");
    for (const left of [75, 50, 25, 0]) {
      await visitor.press("25 calls");
      await visitor.see(`25 calls · ${left} left`);
    }
    await visitor.press("Call");
    await visitor.see(/^1 call · again 1 [A-Z][a-z]+, 00:00 Los Angeles$/);
    await visitor.use(page.getByLabel("Pro"), "Space");
    await visitor.image("900 of 1,000 calls left");
    await used("of 1,000");
    await visitor.press("Call");
    await visitor.see("1 call · 899 left");
    expect(await page.getByLabel("Quota").innerText()).toMatch(/^101\s+of 1,000 used/);
    // A downgrade also applies at once: more calls were used than the plan has.
    await visitor.use(page.getByLabel("Free"), "Space");
    await used("of 100");
    await visitor.press("Call");
    await visitor.see(/^1 call · again 1 /);
    return visitor;
  },

  "Support desk": async (way) => {
    const visitor = await visit("Support desk", way);
    const { page, room } = visitor;
    const row = page.getByRole("row").filter({ hasText: "(this room)" });
    const left = async (tokens: string) => {
      await row.getByRole("cell", { name: tokens, exact: true }).waitFor();
    };
    const guess = async (answer: string) => {
      await visitor.press("Try a login");
      await page.getByRole("status").getByText(`login: ${answer}`, { exact: true }).waitFor();
    };
    await visitor.see(`${room.name}: 5 at once, 10 an hour`);
    await page.getByLabel("Key", { exact: true }).fill("");
    await visitor.see("Choose or type a key.");
    await page.getByLabel("Key", { exact: true }).fill(room.name);
    await visitor.see(`${room.name}: 5 at once, 10 an hour`);
    await guess("wrong, 4 left");
    await left("4");

    // After a block with a note, the next guess is denied and takes no token. After the unblock, guesses are allowed again.
    await page.getByLabel("Note").fill("case 7");
    await visitor.press("Block");
    await row.getByText("blocked · until removed · case 7").waitFor();
    await row.getByText("when removed").waitFor();
    await guess("blocked");
    await visitor.press("Remove override");
    await row.getByText("blocked").waitFor({ state: "detached" });
    await left("4");
    for (const tokens of ["3", "2", "1", "0"]) {
      await guess(`wrong, ${tokens} left`);
      await left(tokens);
    }
    await row.getByText(/^in [56]\smin \d+\ss$/).waitFor();

    // A raise grants nothing for the past. The wait for the next token is a tenth of what it was.
    await guess("locked");
    await visitor.use(page.getByLabel("A minute"), "Space");
    await visitor.press("Raise 10×");
    await row.getByText(/^50 at once, 100 an hour · for \d+\ss · case 7$/).waitFor();
    await row.getByText(/^in [123]?\d\ss$/).waitFor();
    await visitor.use(page.getByLabel("Overridden"), "Space");
    await row.waitFor();
    await visitor.press("Remove override");
    await visitor.see("No key is in the list.");
    await visitor.use(page.getByLabel("Limited now"), "Space");
    await row.getByText(/^in [56]\smin \d+\ss$/).waitFor();
    await visitor.press("Refill");
    await row.waitFor({ state: "detached" });
    await visitor.see(`${room.name} is full again`);
    return visitor;
  },
};

describe.each(WAYS)("$width px, $colorScheme, with the $hand", (way) => {
  it.each(Object.keys(stories))("%s", async (tab) => {
    const visitor = await stories[tab]?.(way);
    if (!visitor) throw new Error(`There is no story of ${tab}.`);
    const { page } = visitor;
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe(way.colorScheme);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(way.width);
    expect(await issuesOf(page)).toEqual([]);
  });
});

it("every tab has a story", async () => {
  const { page } = await visit("Stop spam", WIDE);
  expect(await page.getByRole("tab").allTextContents()).toEqual(Object.keys(stories));
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
    const visitor = await visit("Stop spam", WIDE);
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
    await page.getByText("The provider answers 200.").waitFor();
    await visitor.press("429 for 5 s from the provider");
    await page.getByText("The provider answers 429 for").waitFor();
    const until = await room.client.query(api.stage.queue.busyUntil, { room: room.name });
    // The bucket pays for the first one at once; the second one waits in any case.
    await visitor.press("A job of 100 tokens");
    await visitor.press("A job of 100 tokens");
    await task(1).getByText("got 429, runs again").waitFor();
    await task(1).getByText("answered, run 2", { exact: true }).waitFor();
    await task(2).getByText("answered", { exact: true }).waitFor();
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
