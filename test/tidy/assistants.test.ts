/** llms.txt and AGENTS.md are in the package, and are what `npm run assistants` makes of the current documents. */
import { expect, it } from "vitest";
import { documents } from "../../scripts/assistants/documents.js";
import { linksIn } from "./links.js";
import { markdown, read } from "./files.js";

const made = await documents();

it.each(["llms.txt", "AGENTS.md"] as const)("%s is made of the current documents (npm run assistants)", (name) => {
  expect(read(name)).toBe(made[name]);
});

it("llms.txt lists every page of the docs, and AGENTS.md links to llms.txt", () => {
  const pages = markdown.filter((file) => /^docs\/(?!README)[^/]+\.md$/.test(file));
  expect(linksIn(made["llms.txt"])).toEqual(expect.arrayContaining(pages));
  expect(linksIn(made["AGENTS.md"])).toContain("llms.txt");
});

it("the package contains both files", () => {
  expect((JSON.parse(read("package.json")) as { files: string[] }).files).toEqual(
    expect.arrayContaining(["AGENTS.md", "llms.txt"]),
  );
});
