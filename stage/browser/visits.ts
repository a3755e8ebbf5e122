/** The served page and a browser, for all tests of the file that imports this. The pages that a test opens are closed after it. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll } from "vitest";
import { launch, open, type Opened } from "./chromium.js";
import { Site } from "./site.js";

/** Set before the first test. */
export let site: Site;
let browser: Browser;
let visits: Opened[] = [];

beforeAll(async () => {
  [browser, site] = await Promise.all([launch(), Site.open()]);
});
afterAll(async () => {
  await browser.close();
  await site.stop();
});
afterEach(async () => {
  for (const { page } of visits) await page.context().close();
  visits = [];
});

export async function openPage(url: string, options?: Parameters<typeof open>[2]): Promise<Page> {
  const visit = await open(browser, url, options);
  visits.push(visit);
  return visit.page;
}

/** The errors that the test's pages have reported. */
export function complaints(): string[] {
  return visits.flatMap((visit) => visit.complaints);
}
