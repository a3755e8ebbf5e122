import { describe, expect, it } from "vitest";
import { notesOf, withRelease } from "../../scripts/release/changelog.js";
import { withShippedLinks } from "../../scripts/release/links.js";
import { INSTALLED_BY, published, repositoryAddress } from "../../scripts/release/published.js";
import { tagErrors } from "../../scripts/release/tag.js";
import { filesIn, lines, read } from "../tidy/files.js";
import { directoryFaults } from "./directory.js";

const CHANGELOG = `# Changelog

## [Unreleased]

### Fixed

- A fault.

## [1.0.0] - 2026-01-02

- First.
`;

describe("a release", () => {
  it("moves the unreleased notes under its own heading and leaves the older ones", () => {
    const released = withRelease(CHANGELOG, "1.1.0", "2026-03-04");
    expect(released).toContain(
      "## [Unreleased]\n\n## [1.1.0] - 2026-03-04\n\n### Fixed\n\n- A fault.\n\n## [1.0.0] - 2026-01-02",
    );
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
  const manifest = { version: "1.0.0", repository: "github:someone/something", ...owner };

  it("can be published if it matches the version, the changelog has its notes, and the package names its owner", () => {
    expect(tagErrors("v1.0.0", manifest, CHANGELOG)).toEqual([]);
  });

  it.each([
    ["another version", "v1.0.1", manifest, "The tag is v1.0.1"],
    ["a version without notes", "v2.0.0", { ...manifest, version: "2.0.0" }, "no notes for 2.0.0"],
    ["no repository", "v1.0.0", { ...manifest, repository: undefined }, 'no "repository"'],
    ["no homepage", "v1.0.0", { ...manifest, homepage: undefined }, "npm pkg set homepage="],
    ["no address for bug reports", "v1.0.0", { ...manifest, bugs: undefined }, 'no "bugs"'],
    ["no author", "v1.0.0", { ...manifest, author: undefined }, 'no "author"'],
    ["a repository elsewhere", "v1.0.0", { ...manifest, repository: "https://example.com/a.git" }, "not on GitHub"],
  ])("cannot be published with %s", (_, tag, wrong, error) => {
    const errors = tagErrors(tag, wrong, CHANGELOG);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(error);
  });
});

describe("the documents of a publication", () => {
  const address = "https://github.com/someone/some.thing";
  const pages = Object.fromEntries(
    INSTALLED_BY.map((page) => [page, published(page, read(page), "convex-rate-limits", address)]),
  );
  const readme = pages["README.md"] ?? "";

  it.each([
    "github:someone/some.thing",
    "someone/some.thing",
    `${address}.git`,
    { type: "git", url: `git+${address}.git` },
  ])("link to the repository's address, given as %j", (repository) => {
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
    for (const page of INSTALLED_BY) {
      expect(published(page, pages[page] ?? "", "convex-rate-limits", address)).toBe(pages[page]);
    }
  });

  it("link to the repository for files that the package does not contain", () => {
    const shipped = withShippedLinks(readme, "README.md", ["README.md", "docs/README.md"], address);
    expect(shipped).toContain(`[Comparison](${address}/blob/HEAD/docs/comparison.md)`);
    expect(shipped).toContain(`](${address}/raw/HEAD/docs/pictures/contention.svg)`);
    expect(shipped).toContain("[All pages](docs/README.md)");
    expect(withShippedLinks(readme, "README.md", [], undefined)).not.toContain("(docs/comparison.md)");
  });
});

describe("before a publication", () => {
  it("workflows pin each action by its commit, with its version as a comment for people and Dependabot", () => {
    const used = filesIn(".github/workflows").flatMap((file) =>
      lines(file).flatMap((line) => /\buses: (.+)$/.exec(line)?.[1] ?? []),
    );
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
