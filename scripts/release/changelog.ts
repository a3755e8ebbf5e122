/** The changelog, in the format of Keep a Changelog. A release gets a section with the notes of [Unreleased]. */

const UNRELEASED = "## [Unreleased]";

/**
 * The changelog with the unreleased notes under the heading of `version`, and an empty [Unreleased] above it.
 *
 * @param date the day of the release, as YYYY-MM-DD
 * @throws Error if there are no unreleased notes, or if the version already has a section
 */
export function withRelease(changelog: string, version: string, date: string): string {
  if (notesOf(changelog, version) !== undefined) throw new Error(`CHANGELOG.md has a section for ${version} already`);
  if (!notesOf(changelog, "Unreleased")) throw new Error(`CHANGELOG.md has nothing under "${UNRELEASED}" to release`);
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## [${version}] - ${date}`);
}

/** The trimmed text under a version's heading; undefined if there is no such heading. */
export function notesOf(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((text) => text.startsWith(`[${version}]`));
  return section?.slice(section.indexOf("\n")).trim();
}
