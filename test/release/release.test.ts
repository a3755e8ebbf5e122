import { describe, expect, it } from "vitest";
import { notesOf, withRelease } from "../../scripts/release/changelog.js";
import { withShippedLinks } from "../../scripts/release/links.js";
import { INSTALLED_BY, published, repositoryAddress } from "../../scripts/release/published.js";
import { tagErrors } from "../../scripts/release/tag.js";
import { filesIn, lines, manifest, read } from "../tidy/files.js";

const CHANGELOG = `# Changelog

## [Unreleased]

### Fixed

- A fault.

## [1.0.0] - 2026-01-02

- First.
`;

const START = "<!-- START: Include on https://convex.dev/components -->";
const END = "<!-- END: Include on https://convex.dev/components -->";

/** The faults of the part of a README that convex.dev/components shows. The part must be in the README once and contain the installation. */
function directoryFaults(readme: string): string[] {
  const included = readme.slice(readme.indexOf(START) + START.length, readme.indexOf(END));
  const needed = ["npm install", "app.use(rateLimits)"];
  return [
    ...[START, END].filter((marker) => readme.split(marker).length !== 2),
    ...needed.filter((text) => !included.includes(text)),
    ...(included.length > 2000 ? [] : ["it is too short"]),
  ];
}

describe("a release", () => {
  it("moves the unreleased notes under its own heading and leaves the older ones", () => {
    const released = withRelease(CHANGELOG, "1.1.0", "2026-03-04");
    const heads = "## [Unreleased]\n\n## [1.1.0] - 2026-03-04\n\n### Fixed\n\n- A fault.\n\n## [1.0.0] - 2026-01-02";
    expect(released).toContain(heads);
    expect(notesOf(released, "Unreleased")).toBe("");
    expect(notesOf(released, "1.1.0")).toBe("### Fixed\n\n- A fault.");
    expect(notesOf(released, "1.0.0")).toBe("- First.");
  });

  it("is refused without notes, and for a version that has been released", () => {
    const released = withRelease(CHANGELOG, "1.1.0", "2026-03-04");
    expect(() => withRelease(released, "1.2.0", "2026-03-05")).toThrow("nothing under");
    expect(() => withRelease(CHANGELOG, "1.0.0", "2026-03-04")).toThrow("a section for 1.0.0 already");
  });

  it("finds the unreleased notes of the current changelog", () => {
    expect(notesOf(read("CHANGELOG.md"), "Unreleased")).toBeDefined();
  });
});

describe("a tag", () => {
  const owner = { homepage: "https://example.com", bugs: "https://example.com/bugs", author: "Someone" };
  const owned = { version: "1.0.0", repository: "github:someone/something", ...owner };

  it("can be published if it matches the version, the changelog has its notes, and the package names its owner", () => {
    expect(tagErrors("v1.0.0", owned, CHANGELOG)).toEqual([]);
  });

  it.each([
    ["another version", "v1.0.1", owned, "The tag is v1.0.1"],
    ["a version without notes", "v2.0.0", { ...owned, version: "2.0.0" }, "no notes for 2.0.0"],
    ["no repository", "v1.0.0", { ...owned, repository: undefined }, 'no "repository"'],
    ["no homepage", "v1.0.0", { ...owned, homepage: undefined }, "npm pkg set homepage="],
    ["no address for bug reports", "v1.0.0", { ...owned, bugs: undefined }, 'no "bugs"'],
    ["no author", "v1.0.0", { ...owned, author: undefined }, 'no "author"'],
    ["a repository elsewhere", "v1.0.0", { ...owned, repository: "https://example.com/a.git" }, "not on GitHub"],
  ])("cannot be published with %s", (_, tag, wrong, error) => {
    const errors = tagErrors(tag, wrong, CHANGELOG);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(error);
  });
});

describe("the documents of a publication", () => {
  const address = "https://github.com/someone/some.thing";
  const publish = (page: (typeof INSTALLED_BY)[number], text: string) =>
    published(page, text, "convex-rate-limits", address);
  const pages = Object.fromEntries(INSTALLED_BY.map((page) => [page, publish(page, read(page))]));
  const readme = pages["README.md"] ?? "";

  const inFull = { type: "git", url: `git+${address}.git` };
  const given = ["github:someone/some.thing", "someone/some.thing", `${address}.git`, inFull];
  it.each(given)("link to the repository's address, given as %j", (repository) => {
    expect(repositoryAddress(repository)).toBe(address);
  });

  it("say that the package is on npm, and do not mention a tarball", () => {
    for (const [page, text] of Object.entries(pages)) {
      expect(text, page).toContain("```sh\nnpm install convex-rate-limits\n```");
      expect(text, page).not.toMatch(/tarball|\.tgz|not on npm/);
    }
  });

  it("have badges of the owner's repository below the first paragraph, and the directory accepts them", () => {
    const paragraphs = readme.split("\n\n");
    expect(paragraphs.findIndex((text) => text.startsWith("[![npm]"))).toBe(3);
    // After a release, the badge is the owner's.
    expect(paragraphs[3]).toMatch(/https:\/\/github\.com\/[\w-]+\/[\w.-]+\/actions\/workflows\/ci\.yml\/badge\.svg/);
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

describe("before a publication", () => {
  it("workflows pin each action by its commit, with its version as a comment for people and Dependabot", () => {
    const workflows = filesIn(".github/workflows").flatMap((file) => lines(file));
    const used = workflows.flatMap((line) => /\buses: (.+)$/.exec(line)?.[1] ?? []);
    expect(used.length).toBeGreaterThan(8);
    expect(used.filter((action) => !/^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
    expect(read(".github/dependabot.yml")).toContain("github-actions");
  });

  it('docs/platform.md says "not yet" for each platform fact without a committed report', () => {
    const lines = read("docs/platform.md").split("\n");
    const head = lines.findIndex((line) => line.includes("proved on a deployment"));
    const rows = lines.slice(head + 2, lines.indexOf("", head));
    expect(rows).toHaveLength(14);
    for (const row of rows) {
      const proved = row.split("|").at(-2)?.trim() ?? "";
      const report = /^\[.+\]\(\.\.\/(proof\/[\w-]+\.md)\)$/.exec(proved)?.[1];
      if (report === undefined) expect(proved, row).toBe("not yet");
      else expect(read(report), row).not.toBe("");
    }
  });
});

// The automatic checks of convex.dev/components, which come before a person's review.

/** The files that its reviewers see. */
const shown = [...filesIn("convex").filter((file) => file.endsWith(".ts")), "src/index.ts", "src/test.ts"];
const registering = ["convex/public.ts", "convex/queue.ts", "convex/sweep.ts", "convex/upkeep.ts"];

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
    expect(lines(file).filter((line) => /^export const \w+ = /.test(line)).length).toBeGreaterThan(2);
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
