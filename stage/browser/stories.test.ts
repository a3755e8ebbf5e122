/** Each tab's story on the built page: wide and narrow, light and dark, with the mouse and with the keyboard. */
import { afterEach, describe, expect, it } from "vitest";
import { api } from "../convex/_generated/api.js";
import { issuesOf } from "./axe.js";
import { visit, type Visitor, type Way, WIDE } from "./visitor.js";
import { complaints } from "./visits.js";

afterEach(() => {
  expect(complaints()).toEqual([]);
});

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

/** Runs in the page: collects, for each title of a lane, the different figures that are ever shown beside it. */
function noteFigures(): void {
  const figures: Record<string, string[]> = {};
  Object.assign(globalThis, { figures });
  const note = () => {
    for (const lane of document.querySelectorAll("#panel [role=group]")) {
      const shown = (figures[lane.getAttribute("aria-label") ?? ""] ??= []);
      const figure = lane.querySelector("p > :last-child")?.textContent ?? "";
      if (figure !== "…" && !shown.includes(figure)) shown.push(figure);
    }
  };
  new MutationObserver(note).observe(document.querySelector("#panel") ?? document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
  });
}

const stories: Record<string, (way: Way) => Promise<Visitor>> = {
  "It rolls back": async (way) => {
    const visitor = await visit("It rolls back", way, (room) => room.slow("message"));
    const { page, room } = visitor;
    const left = async (outside: number, inside: number) => {
      await visitor.image(`Outside: ${outside} of 10 tokens`);
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
    expect(await lost()).toMatch(/^Outside\s*5\s+In the mutation\s*0$/);
    await visitor.press("60 at once");
    await visitor.see("66 calls: 10 sent, 5 threw, 51 denied.");
    await visitor.see(/as Convex counts: 1 row read, 0 written\.$/);
    await left(0, 0);
    expect(await lost()).toMatch(/^Outside\s*5\s+In the mutation\s*0$/);
    // The backend agrees with the page: each side has used ten tokens, for ten messages here and for five outside.
    const messages = await room.client.query(api.stage.rollback.delivered, { room: room.name });
    expect(messages.filter((to) => to === "inside")).toHaveLength(10);
    expect(messages.filter((to) => to === "outside")).toHaveLength(5);
    return visitor;
  },

  "Under load": async (way) => {
    const visitor = await visit("Under load", way);
    const { page } = visitor;
    await page.evaluate(noteFigures);
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
    const alone = page.getByRole("group", { name: "The official component, one shard" });
    await alone.getByText("…", { exact: true }).waitFor();
    expect(await failed("The official component, one shard")).toBeGreaterThan(50);
    // A result that was there before is there again at once.
    await shards.press("End");
    expect(await failed("The official component, 64 shards")).toBeLessThan(5);
    // No setting has ever shown a figure of another one.
    const figures = await page.evaluate(() => (globalThis as unknown as { figures: Record<string, string[]> }).figures);
    expect(Object.keys(figures)).toHaveLength(4);
    for (const [setting, shown] of Object.entries(figures)) {
      expect({ [setting]: shown }).toEqual({ [setting]: [expect.stringMatching(/^[\d.]+ % failed$/)] });
    }
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
    for (const number of [1, 2, 3, 4, 5, 6]) {
      await visitor.press("A job of 100 tokens");
      await task(number).waitFor();
    }
    await goesFirst(1, "the next one");
    await goesFirst(2, "1 goes first");
    for (const number of [3, 4, 5, 6]) await goesFirst(number, `${number - 1} go first`);
    // Six jobs have room in the list.
    const isCut = (list: Element) => (list.parentElement?.scrollHeight ?? 0) > (list.parentElement?.clientHeight ?? 0);
    expect(await page.getByRole("list", { name: "The latest jobs" }).evaluate(isCut)).toBe(false);
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
    await goesFirst(106, "104 go first");
    await visitor.press("Cancel job 106");
    await goesFirst(106, "cancelled");
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

    // The third way to wait: for one of two slots.
    await visitor.use(page.getByLabel("Two at once"), "Space");
    await visitor.see("Both slots are free.");
    const run = (number: number) => page.getByRole("listitem").filter({ hasText: `Run ${number}` });
    for (const number of [1, 2]) {
      await visitor.press("Start a run");
      await run(number).waitFor();
    }
    await visitor.press("Start a run");
    await visitor.see(/^Both slots are taken\. The first lease ends in [\d.]+\ss\.$/);
    await visitor.press("End run 2");
    await visitor.see("Run 2 has ended: its slot is free.");
    await visitor.press("Kill run 1");
    await visitor.see("Run 1 died. Its slot is free when the lease ends.");
    await visitor.press("Start a run");
    await visitor.see("It runs, and holds a slot.");
    await visitor.press("Start a run");
    await visitor.see(/^Both slots are taken/);
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
    for (const left of ["2, 4, 5", "1, 3, 4", "0, 2, 3"]) {
      await visitor.press("Upload as Ada");
      await visitor.see(`Ada · ${left} left for user, team, everyone`);
    }
    await visitor.press("Upload as Ada");
    await visitor.see(/^Ada · by user: none was charged, again in /);
    await visitor.image("Their team: 2 of 5 left");
    for (const left of ["2, 1, 2", "1, 0, 1"]) {
      await visitor.press("Upload as Ben");
      await visitor.see(`Ben · ${left} left for user, team, everyone`);
    }
    await visitor.press("Upload as Ben");
    await visitor.see(/^Ben · by team: none was charged, again in /);
    await visitor.image("Ben: 1 of 3 left");
    await visitor.image("Everyone: 1 of 6 left");
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
      for (const kind of ["Token bucket", "Fixed window", "Sliding window", "Calendar window"]) {
        await visitor.image(`${kind}: ${left} of 5 left`);
      }
    }
    await visitor.press("Call all four");
    await visitor.see("by token bucket, fixed window, sliding window, calendar window");
    return visitor;
  },

  Plans: async (way) => {
    const visitor = await visit("Plans", way);
    const { page } = visitor;
    const month = "resets 1 [A-Z][a-z]+, 00:00 Los Angeles";
    const used = async (text: string) => {
      await page
        .getByLabel("Quota")
        .getByText(new RegExp(`^${text} used · ${month}$`))
        .waitFor();
    };
    await used("of 100");
    await visitor.image("100 of 100 calls left");
    for (const left of [75, 50, 25, 0]) {
      await visitor.press("25 calls");
      await visitor.see(`25 calls · ${left} left`);
    }
    // Nothing left is red, and a legend says what the colours of the cells are.
    const quota = page.getByLabel("Quota").locator(".text-stop");
    await quota.getByText("100", { exact: true }).waitFor();
    await page.getByRole("tabpanel").getByText("used", { exact: true }).waitFor();
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
    await quota.getByText("101", { exact: true }).waitFor();
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
    await page.getByRole("status").locator(".text-stop").getByText("blocked", { exact: true }).waitFor();
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
