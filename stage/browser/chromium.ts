/** Starts Debian's chromium, because playwright-core has no browser of its own. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

export const EXECUTABLE = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** The flags of a browser without a window, without updates and without background requests. */
export const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function launch(): Promise<Browser> {
  return await chromium.launch({
    executablePath: EXECUTABLE,
    args: [
      ...FLAGS,
      // Without these, the browser slows down one of two open pages.
      "--disable-background-timer-throttling",
      "--disable-renderer-backgrounding",
      "--disable-backgrounding-occluded-windows",
    ],
  });
}

export interface Opened {
  page: Page;
  /** The errors that the page has reported. */
  complaints: string[];
}

/** Opens a page in its own context, which has its own storage like a separate browser. */
export async function open(
  browser: Browser,
  url: string,
  { clockError = 0, ...options }: BrowserContextOptions & { clockError?: number } = {},
): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  if (clockError !== 0) await context.addInitScript(shiftClock, clockError);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() !== "error") return;
    // The browser logs every 429. The tests cause some on purpose.
    if (!message.text().includes("status of 429 ")) complaints.push(message.text());
  });
  await page.goto(url);
  return { page, complaints };
}

/** Repeats an act `n` times, one after the other. */
export async function times(n: number, act: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < n; i++) await act();
}

/** Runs in the page: shifts the time that it reads from `Date` by `ms` from then on. */
export function shiftClock(ms: number): void {
  const RealDate = Date;
  const now = () => RealDate.now() + ms;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[]): Date =>
      args.length === 0 ? new target(now()) : (Reflect.construct(target, args) as Date),
    get: (target, property) => (property === "now" ? now : (Reflect.get(target, property) as unknown)),
  });
}
