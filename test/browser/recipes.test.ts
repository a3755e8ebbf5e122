// @vitest-environment jsdom
/** The code that docs/react.md shows for Vue and Svelte, unchanged, in the real frameworks. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConvexClient } from "convex/browser";
import { type RateLimitWatch, watchRateLimit } from "convex-rate-limits/client";
import { compile } from "svelte/compiler";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { empty, FakeClient, getRateLimit, NOW } from "../react/fakeClient.js";

const root = `${process.cwd()}/`;
const page = readFileSync(`${root}docs/react.md`, "utf8");

function firstMatch(pattern: RegExp): string {
  const [, found] = pattern.exec(page) ?? [];
  if (found === undefined) throw new Error(`docs/react.md has no match for ${String(pattern)}.`);
  return found;
}

/** Shows a limit in an element, until the returned function is called. */
type Mount = (limit: RateLimitWatch, target: Element) => () => void;

const apps: Record<string, () => { entry: string; recipe: string; limit?: string }> = {
  Vue: () => ({
    recipe: firstMatch(/## Use it in Vue[^]*?```ts\n([^]*?)```/),
    entry: `
      import { createApp } from "vue/dist/vue.esm-bundler.js";
      import { useRateLimit } from "./recipe";
      export function mount(limit, target) {
        const template = ${JSON.stringify(firstMatch(/In a template: `(.*?)`/))};
        const app = createApp({ template, setup: () => ({ status: useRateLimit(limit) }) });
        app.mount(target);
        return () => app.unmount();
      }`,
  }),
  Svelte: () => ({
    recipe: compile(firstMatch(/```svelte\n([^]*?)```/), { generate: "client" }).js.code,
    // A module of the app, which the component imports by name.
    limit: "export let sendLimit; export const use = (limit) => { sendLimit = limit; };",
    entry: `
      import { mount as show, unmount } from "svelte";
      import { use } from "./limit";
      import Component from "./recipe";
      export function mount(limit, target) {
        use(limit);
        const component = show(Component, { target });
        return () => void unmount(component);
      }`,
  }),
};

/** Bundles code as for a page. It runs esbuild's own program, since esbuild does not work with jsdom's globals. */
async function bundle(app: { entry: string; recipe: string; limit?: string }): Promise<Mount> {
  const folder = mkdtempSync(join(tmpdir(), "recipes-"));
  try {
    for (const [name, text] of Object.entries(app)) writeFileSync(join(folder, `${name}.ts`), text);
    const flags = ["--bundle", "--format=esm", "--conditions=browser", '--define:process.env.NODE_ENV="production"'];
    const code = execFileSync(`${root}node_modules/.bin/esbuild`, ["entry.ts", ...flags], {
      cwd: folder,
      env: { ...process.env, NODE_PATH: `${root}node_modules` },
      stdio: "pipe",
    }).toString("base64");
    const { mount } = (await import(/* @vite-ignore */ `data:text/javascript;base64,${code}`)) as { mount: Mount };
    return mount;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.each(Object.keys(apps))("%s", (framework) => {
  let mount: Mount;
  beforeAll(async () => {
    const app = apps[framework]?.();
    if (app) mount = await bundle(app);
  });
  useClock(NOW, "Date", "performance", "setTimeout", "clearTimeout");
  afterEach(() => {
    document.body.innerHTML = "";
  });

  it("disables the button while the limit is short, and enables it when the wait ends", async () => {
    const client = new FakeClient();
    const limit = watchRateLimit(client as unknown as ConvexClient, getRateLimit);
    const unmount = mount(limit, document.body);
    const isDisabled = () => document.querySelector("button")?.disabled;
    // Frameworks render in a microtask.
    await Promise.resolve();
    expect(isDisabled()).toBe(true);
    client.show(empty);
    await vi.advanceTimersByTimeAsync(99);
    expect(isDisabled()).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(isDisabled()).toBe(false);
    expect(document.body.textContent).toContain("Send");
    unmount();
    await vi.advanceTimersByTimeAsync(0);
    expect(document.querySelector("button")).toBeNull();
    expect(client.watchers).toBe(0);
  });
});
