import { describe, expect, it } from "vitest";
import { notesOf, withRelease } from "../../scripts/release/changelog.js";
import { tagErrors } from "../../scripts/release/tag.js";
import { filesIn, lines, read } from "../tidy/files.js";

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

  it("has notes of at most 20 lines if it is the first: its readers know no earlier version", () => {
    const changelog = read("CHANGELOG.md");
    const notes = notesOf(changelog, "0.1.0") ?? notesOf(changelog, "Unreleased") ?? "";
    expect(notes).toMatch(/^The first release\./);
    expect(notes.split("\n").length).toBeLessThanOrEqual(20);
  });
});

describe("a tag", () => {
  const owner = { homepage: "https://example.com", bugs: "https://example.com/bugs", author: "Someone" };
  const owned = { version: "1.0.0", repository: "github:someone/something", ...owner };

  /** What CONTRIBUTING.md tells the owner to set, copied as it is written there. */
  const set = Object.fromEntries(
    [...read("CONTRIBUTING.md").matchAll(/\b(url|homepage|bugs|author)=("?)(\S+)\2/g)].map(([, name, , value]) => [
      name,
      value,
    ]),
  ) as Record<"url" | "homepage" | "bugs" | "author", string>;

  it("can be published if it matches the version, the changelog has its notes, and the package names its owner", () => {
    expect(tagErrors("v1.0.0", owned, CHANGELOG)).toEqual([]);
  });

  it.each([
    ["another version", "v1.0.1", owned, "The tag is v1.0.1"],
    ["a version without notes", "v2.0.0", { ...owned, version: "2.0.0" }, "no notes for 2.0.0"],
    ["no repository", "v1.0.0", { ...owned, repository: undefined }, 'no "repository"'],
    ["no homepage", "v1.0.0", { ...owned, homepage: undefined }, 'no "homepage"'],
    ["no address for bug reports", "v1.0.0", { ...owned, bugs: undefined }, 'no "bugs"'],
    ["no author", "v1.0.0", { ...owned, author: undefined }, 'no "author"'],
    ["the repository of the instructions", "v1.0.0", { ...owned, repository: { url: set.url } }, 'no "repository"'],
    ["the homepage of the instructions", "v1.0.0", { ...owned, homepage: set.homepage }, 'no "homepage"'],
    ["the address for bugs of the instructions", "v1.0.0", { ...owned, bugs: { url: set.bugs } }, 'no "bugs"'],
    ["the author of the instructions", "v1.0.0", { ...owned, author: set.author }, 'no "author"'],
    ["an empty author", "v1.0.0", { ...owned, author: "" }, 'no "author"'],
    ["a repository elsewhere", "v1.0.0", { ...owned, repository: "https://example.com/a.git" }, "not on GitHub"],
  ])("cannot be published with %s", (_, tag, wrong, error) => {
    const errors = tagErrors(tag, wrong, CHANGELOG);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(error);
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
