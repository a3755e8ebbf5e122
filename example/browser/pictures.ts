/** `npm run pictures`: the README's pictures, of the running page, in light and in dark, into docs/pictures. */
import { mkdir } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { launch, open } from "./chromium.js";
import { Room } from "./room.js";
import { build, Site } from "./site.js";

const folder = new URL("../../docs/pictures/", import.meta.url).pathname;

/** What a visitor does in each tab before its picture is taken. */
const scenes: Record<string, { tab: string; play: (page: Page, room: Room) => Promise<void> }> = {
  limit: {
    tab: "burst",
    play: async (page) => {
      await press(page, "Send 5", "5 tokens · 5 left");
      await press(page, "Send 1", /^1 token · \d left$/);
      await page.getByRole("img", { name: /^[89] of 10 tokens$/ }).waitFor();
      await press(page, "Send 5", /^5 tokens · \d left$/);
      await press(page, "Reserve 5", /without asking again$/);
      await press(page, "Send 5", /^5 tokens · come back in/);
      await press(page, "One ms before?", /1 ms too early$/);
      await press(page, "At that ms?", /that very millisecond$/);
    },
  },
  queue: {
    tab: "queue",
    play: async (page) => {
      await page.getByLabel("A promise").check();
      await press(page, "Ask for 400 tokens", "it runs now.");
      await press(page, "Ask for 100 tokens", /^100 tokens: promised/);
      await press(page, "Ask for 400 tokens", /^400 tokens: promised/);
      await press(page, "Ask for 1,000 tokens", /^1,000 tokens: promised/);
      await press(page, "Ask for 400 tokens", /^400 tokens: promised/);
      await press(page, "Ask for 100 tokens", /^100 tokens: promised/);
      await press(page, "Cancel job 4", "are given back.");
      await page.getByRole("listitem").filter({ hasText: "Job 2" }).getByText("running").waitFor();
    },
  },
  hot: {
    tab: "hot",
    play: async (page) => {
      await page
        .getByRole("group")
        .getByText(/attempts a call/)
        .nth(2)
        .waitFor();
    },
  },
};

await mkdir(folder, { recursive: true });
await build();
const site = await Site.open();
const browser = await launch();
try {
  for (const colours of ["light", "dark"] as const) {
    for (const name of Object.keys(scenes)) await picture(browser, name, colours);
  }
} finally {
  await browser.close();
  await site.stop();
}

async function picture(on: Browser, name: string, colours: "light" | "dark"): Promise<void> {
  const scene = scenes[name];
  if (!scene) throw new Error(`There is no scene ${name}.`);
  const room = new Room(site, site.room(colours, scene.tab));
  const { page } = await open(on, room.url, {
    colorScheme: colours,
    viewport: { width: 1160, height: 1000 },
    deviceScaleFactor: 2,
  });
  await page.getByText("Live", { exact: true }).waitFor();
  await scene.play(page, room);
  // Out of the way, so that nothing is highlighted.
  await page.mouse.move(0, 0);
  const path = `${folder}${name}-${colours}.png`;
  await page.locator(".stage").screenshot({ path });
  console.log(path);
  await page.context().close();
}

async function press(page: Page, button: string, answer: string | RegExp): Promise<void> {
  await page.getByRole("button", { name: button, exact: true }).click();
  await page.getByRole("status").getByText(answer).waitFor();
}
