/** A visitor of the page, who goes to a tab and uses it. */
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { times } from "./chromium.js";
import { Room } from "./room.js";
import { openPage, site } from "./visits.js";

/** How a story is run: the screen, the colours and the input. */
export interface Way {
  width: number;
  colorScheme: "light" | "dark";
  hand: "mouse" | "keyboard";
}
export const WIDE: Way = { width: 1280, colorScheme: "light", hand: "mouse" };

/** A visitor in a room of their own. */
export class Visitor {
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
export async function visit(tab: string, way: Way, prepare?: (room: Room) => Promise<void>): Promise<Visitor> {
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
