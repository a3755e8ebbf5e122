/** A deploy evaluates every module of the pages' apps. */
import { readdirSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { APPS, blocksOf } from "./pages.js";

const pages = readdirSync(path.resolve(import.meta.dirname, "../../docs")).filter((file) => file.endsWith(".md"));

it.each(pages.map((file) => file.replace(/\.md$/, "")))("the modules of docs/%s.md load", async (page) => {
  const modules = [...blocksOf(page).keys()].filter((file) => /^convex\/\w+\.ts$/.test(file));
  for (const file of modules) expect(await import(path.join(APPS, page, file)), file).toBeDefined();
});
