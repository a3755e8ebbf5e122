/** The changelog of Keep a Changelog's form: the section of a release is made of what [Unreleased] holds. */

const UNRELEASED = "## [Unreleased]";

/**
 * The changelog with the unreleased notes under the heading of `version`, and an empty [Unreleased] above.
 *
 * @param date the day of the release, as YYYY-MM-DD
 * @throws Error when there are no unreleased notes, or the version has a section already
 */
export function withRelease(changelog: string, version: string, date: string): string {
  if (notesOf(changelog, version) !== undefined) throw new Error(`CHANGELOG.md has a section for ${version} already`);
  if (!notesOf(changelog, "Unreleased")) throw new Error(`CHANGELOG.md has nothing under "${UNRELEASED}" to release`);
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## [${version}] - ${date}`);
}

/** The text under a version's heading, trimmed; undefined when there is no such heading. */
export function notesOf(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((text) => text.startsWith(`[${version}]`));
  return section?.slice(section.indexOf("\n")).trim();
}
