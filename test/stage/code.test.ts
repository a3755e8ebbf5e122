/** The code that the page shows beside each tab. */
import path from "node:path";
import { createServer, type ViteDevServer } from "vite";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { codeModules } from "../../stage/site/code.js";
import type { Tab } from "../../stage/src/tabs/index.js";

let server: ViteDevServer;
let tabs: readonly Tab[];

beforeAll(async () => {
  vi.stubGlobal("location", new URL("http://page/?room=code"));
  vi.stubGlobal("document", { querySelector: () => null });
  server = await createServer({
    configFile: false,
    logLevel: "error",
    optimizeDeps: { noDiscovery: true },
    root: path.resolve(import.meta.dirname, "../../stage"),
    plugins: [codeModules()],
    resolve: { tsconfigPaths: true },
    server: { middlewareMode: true, watch: null, ws: false },
  });
  ({ TABS: tabs } = (await server.ssrLoadModule("/src/tabs/index.ts")) as { TABS: readonly Tab[] });
});
afterAll(async () => {
  vi.unstubAllGlobals();
  await server.close();
});

const linesOf = ({ views }: Tab) => views.flat().flatMap(({ lines }) => lines);

it("every limit that may be edited has a marked value in the code", () => {
  const unmarked = tabs.flatMap((tab) => {
    const marked = new Set(linesOf(tab).flatMap((line) => line.map(({ edit }) => edit?.limit)));
    return Object.keys(tab.limits).filter((limit) => !marked.has(limit));
  });
  expect(unmarked).toEqual([]);
  expect(tabs.find(({ id }) => id === "http")?.limits).toHaveProperty("requests");
});

it("a line has at most 66 columns, which a window of 1280 pixels shows", () => {
  const lines = tabs.flatMap(linesOf).map((line) => line.map(({ text }) => text).join(""));
  expect(lines.filter((line) => line.length > 66)).toEqual([]);
});
