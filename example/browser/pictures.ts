/** `npm run pictures`: the README's pictures, of the running page, in light and in dark, into docs/pictures. */
import { mkdir } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { launch, open, times } from "./chromium.js";
import { build, Site } from "./site.js";

const folder = new URL("../../docs/pictures/", import.meta.url).pathname;

await mkdir(folder, { recursive: true });
await build();
const site = await Site.open();
const browser = await launch();
try {
  for (const colours of ["light", "dark"] as const) await picture(browser, colours);
} finally {
  await browser.close();
  await site.stop();
}

async function picture(on: Browser, colours: "light" | "dark"): Promise<void> {
  const { page } = await open(on, site.room(colours), {
    colorScheme: colours,
    viewport: { width: 1120, height: 900 },
    deviceScaleFactor: 1.25,
  });
  await play(page);
  const shots = {
    limit: "A limit under your hands",
    queue: "A queue for a language model",
    hot: "A hot limit, on many rows",
  };
  for (const [name, title] of Object.entries(shots)) {
    const path = `${folder}${name}-${colours}.png`;
    await page.getByRole("region", { name: title }).screenshot({ path });
    console.log(path);
  }
  await page.context().close();
}

/** A minute of use, as a visitor would. */
async function play(page: Page): Promise<void> {
  const click = (name: string) => page.getByRole("button", { name, exact: true }).click();
  const hands = page.getByRole("region", { name: "A limit under your hands" });
  /** Until the bucket shows so many tokens. */
  const level = (text: RegExp) => hands.getByText(text).first().waitFor();

  await page.getByLabel("Capacity").fill("20");
  await page.getByLabel("Reservable").fill("20");
  await click("Reset");
  await times(3, () => click("Send 5"));
  await level(/^1[0-9]\.\d$/);
  await click("Hammer");
  await page.locator("[aria-pressed=false]").waitFor();
  await level(/^8\.\d$/);
  await times(3, () => click("Send 1"));
  await level(/^9\.\d$/);
  await times(4, () => click("Reserve 5"));
  await level(/^5\.\d$/);
  await times(2, () => click("Send 1"));
  await level(/^1[0-2]\.\d$/);
  await click("Hammer");
  await page.waitForTimeout(1200);
  await click("Hammer");
  await times(3, () => click("Reserve 5"));

  await page.getByText("16", { exact: true }).click();
  await times(3, () => click("100 calls"));
  await page.getByText("300 calls: ").waitFor();

  for (const tokens of ["400", "400", "1,000", "400", "100", "400", "100"]) await click(`Ask for ${tokens} tokens`);
  await click("Cancel job 4");
  await page.getByRole("listitem").filter({ hasText: "Job 2" }).getByText("running").waitFor();
  // Out of the way, so that nothing is highlighted.
  await page.mouse.move(0, 0);
}
