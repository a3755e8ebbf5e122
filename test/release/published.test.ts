/** What readers see after a publication: the documents, npm's page of the README, and the directory of components. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { prepare, restore, withShippedLinks } from "../../scripts/release/links.js";
import { INSTALLED_BY, published, repositoryAddress } from "../../scripts/release/published.js";
import { files, filesIn, lines, manifest, read } from "../tidy/files.js";

const START = "<!-- START: Include on https://convex.dev/components -->";
const END = "<!-- END: Include on https://convex.dev/components -->";

/** The faults of the part of a README that convex.dev/components shows: it is there once, and has the installation. */
function directoryFaults(readme: string): string[] {
  const included = readme.slice(readme.indexOf(START) + START.length, readme.indexOf(END));
  const needed = ["npm install", "app.use(rateLimits)"];
  return [
    ...[START, END].filter((marker) => readme.split(marker).length !== 2),
    ...needed.filter((text) => !included.includes(text)),
    ...(included.length > 2000 ? [] : ["it is too short"]),
  ];
}

describe("the documents of a publication", () => {
  const address = "https://github.com/someone/some.thing";
  const publish = (page: (typeof INSTALLED_BY)[number], text: string) =>
    published(page, text, "convex-rate-limits", address);
  const pages = Object.fromEntries(INSTALLED_BY.map((page) => [page, publish(page, read(page))]));
  const readme = pages["README.md"] ?? "";
  const tarball = /not on npm yet|\bpath\/to\/|\.tgz\b/i;

  const inFull = { type: "git", url: `git+${address}.git` };
  const given = ["github:someone/some.thing", "someone/some.thing", `${address}.git`, inFull];
  it.each(given)("link to the repository's address, given as %j", (repository) => {
    expect(repositoryAddress(repository)).toBe(address);
  });

  it("say that the package is on npm, and do not mention a tarball", () => {
    for (const page of ["README.md", "docs/start.md"])
      expect(pages[page], page).toContain("```sh\nnpm install convex-rate-limits\n```");
    expect(pages["stage/index.html"]).toContain('<code id="install">npm install convex-rate-limits</code>');
    // A copy of the example gets the package by its manifest.
    expect(read("example/package.json")).toContain('"convex-rate-limits": "latest"');
    expect(pages["example/README.md"]).toContain("cd ~/my-app\nnpm install\n");
    for (const [page, text] of Object.entries(pages)) expect(text, page).not.toMatch(tarball);
  });

  it("are all that mention the tarball", () => {
    // llms-full.txt is made of the others.
    const texts = files.filter((file) => /\.(md|html|tsx|txt|yml)$/.test(file) && file !== "llms-full.txt");
    const others = texts.filter((file) => !Object.hasOwn(pages, file));
    expect(others.length).toBeGreaterThan(60);
    expect(others.filter((file) => tarball.test(read(file)))).toEqual([]);
  });

  it("have badges and the address of the owner's repository below the two commands of a clone", () => {
    const screen = readme.split("\n").slice(0, 50).join("\n");
    expect(screen).toContain("npm ci && npm start");
    expect(screen).toContain("npm ci && npm test");
    expect(screen).toMatch(/A clone of \[the repository\]\(https:\/\/github\.com\/[\w-]+\/[\w.-]+\) needs no account/);
    const above = readme.split("\n\n## ")[0]?.split("\n\n").at(-1);
    expect(above).toMatch(/^\[!\[npm\]/);
    // After a release, the badge is the owner's.
    expect(above).toMatch(/https:\/\/github\.com\/[\w-]+\/[\w.-]+\/actions\/workflows\/ci\.yml\/badge\.svg/);
    expect(directoryFaults(readme)).toEqual([]);
  });

  it("do not change again if they are published again", () => {
    for (const page of INSTALLED_BY) expect(publish(page, pages[page] ?? "")).toBe(pages[page]);
  });

  it("link to the repository for files that the package does not contain", () => {
    const shipped = withShippedLinks(readme, "README.md", ["README.md", "docs/README.md"], address);
    expect(shipped).toContain(`[Comparison](${address}/blob/HEAD/docs/comparison.md)`);
    expect(shipped).toContain(`](${address}/raw/HEAD/docs/pictures/contention.svg)`);
    expect(shipped).toContain("[All pages](docs/README.md)");
    const unlinked = withShippedLinks(readme, "README.md", [], undefined);
    expect(unlinked).not.toContain("(docs/comparison.md)");
    expect(unlinked).not.toMatch(/Line plots|docs\/pictures/);
  });
});

describe("the pages of a tarball", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pages-"));
  const write = (file: string, text: string) => {
    writeFileSync(path.join(folder, file), text);
  };
  const readme = () => readFileSync(path.join(folder, "README.md"), "utf8");
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it("are restored, but not over a page that has changed since a pack failed", () => {
    mkdirSync(path.join(folder, "docs"));
    write("package.json", '{ "files": [], "repository": "github:someone/something" }');
    for (const file of ["README.md", "llms.txt", "llms-full.txt", "CHANGELOG.md"]) write(file, "[old](SECURITY.md)");
    prepare(folder);
    expect(readme()).toBe("[old](https://github.com/someone/something/blob/HEAD/SECURITY.md)");
    restore(folder);
    expect(readme()).toBe("[old](SECURITY.md)");

    prepare(folder);
    write("README.md", "[new](SECURITY.md)");
    prepare(folder);
    expect(readme()).toBe("[new](https://github.com/someone/something/blob/HEAD/SECURITY.md)");
    restore(folder);
    expect(readme()).toBe("[new](SECURITY.md)");
  });
});

// The automatic checks of convex.dev/components, which come before a person's review.

/** The files that its reviewers see. */
const shown = [...filesIn("convex").filter((file) => file.endsWith(".ts")), "src/index.ts", "src/test.ts"];
const registering = ["public", "queue", "snapshots", "sweep", "upkeep", "worker"].map(
  (module) => `convex/${module}.ts`,
);

/** The exports that are not functions made by a builder of _generated/server from an object with args, returns and a handler. */
function oddIn(text: string): string[] {
  const exported = [
    ...text.matchAll(/^export const (\{[^}]+\}|\w+) = ([^]*?)(?=^(?:export|\/\/|\/\*\*|const|function) |$(?![^]))/gm),
  ];
  const isPlain = (body: string) =>
    /^(internal)?([qQ]uery|[mM]utation|[aA]ction)\(\{/.test(body) &&
    ["args()", "returns()"].every(
      (field) => body.includes(`  get ${field} {`) || body.includes(`  ${field.slice(0, -2)}: `),
    ) &&
    body.includes("  handler: ");
  return exported.filter(([, , body = ""]) => !isPlain(body)).map(([, name = ""]) => name);
}

describe("the components directory", () => {
  it("finds the keyword and the exports that apps need", () => {
    const { keywords } = JSON.parse(read("package.json")) as { keywords: string[] };
    expect(keywords).toContain("component");
    const needed = ["./convex.config.js", "./_generated/component.js", "./test"];
    expect(needed.filter((name) => !Object.hasOwn(manifest.exports, name))).toEqual([]);
  });

  it("finds the part of the README that it shows: once, with the installation", () => {
    expect(directoryFaults(read("README.md"))).toEqual([]);
    expect(directoryFaults("npm install")).toHaveLength(5);
  });

  it.each(registering)("%s exports each function by itself, with its validators", (file) => {
    expect(lines(file).filter((line) => /^export const \w+ = /.test(line)).length).toBeGreaterThan(1);
    expect(oddIn(read(file))).toEqual([]);
    expect(read(file)).toMatch(/^import \{[^}]*\} from "\.\/_generated\/server\.js";$/m);
  });

  it("the check finds a function without validators, a destructured one, and one of a generic builder", () => {
    const bare = "export const a = query({\n  handler: () => 1,\n});\n";
    const full = "export const b = query({\n  args: {},\n  returns: v.null(),\n  handler: () => null,\n});\n";
    const generic = full.replace("b = query", "e = queryGeneric");
    const odd = oddIn(`${bare}${full}export const { c, d } = functions();\n${generic}`);
    expect(odd).toEqual(["a", "{ c, d }", "e"]);
  });

  it("sees no use of ctx.auth and no query filter", () => {
    expect(shown.filter((file) => /ctx\.auth|\.filter\(/.test(read(file)))).toEqual([]);
  });
});
