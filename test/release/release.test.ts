// @vitest-environment node
import { describe, expect, it } from "vitest";
import { notesOf, withRelease } from "../../scripts/release/changelog.js";
import { tagErrors } from "../../scripts/release/tag.js";
import { read } from "../tidy/files.js";

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

  it("finds the unreleased notes of the changelog as it is", () => {
    expect(notesOf(read("CHANGELOG.md"), "Unreleased")).toBeDefined();
  });
});

describe("a tag", () => {
  const manifest = {
    version: "1.0.0",
    repository: "github:someone/something",
    homepage: "https://example.com",
    bugs: "https://example.com/bugs",
    author: "Someone",
  };

  it("can be published when it names the version and its notes, and the package its owner", () => {
    expect(tagErrors("v1.0.0", manifest, CHANGELOG)).toEqual([]);
  });

  it.each([
    ["another version", "v1.0.1", manifest, "The tag is v1.0.1"],
    ["a version without notes", "v2.0.0", { ...manifest, version: "2.0.0" }, "no notes for 2.0.0"],
    ["no repository", "v1.0.0", { ...manifest, repository: undefined }, 'no "repository"'],
    ["no homepage", "v1.0.0", { ...manifest, homepage: undefined }, "npm pkg set homepage="],
    ["no address for faults", "v1.0.0", { ...manifest, bugs: undefined }, 'no "bugs"'],
    ["no author", "v1.0.0", { ...manifest, author: undefined }, 'no "author"'],
  ])("cannot with %s", (_, tag, wrong, error) => {
    const errors = tagErrors(tag, wrong, CHANGELOG);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(error);
  });
});

describe("what a publication promises", () => {
  it('says "not yet" for each platform fact without a committed report', () => {
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
