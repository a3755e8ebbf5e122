/** A tag and what it releases. */
import { notesOf } from "./changelog.js";

export interface Manifest {
  readonly version: string;
  readonly repository?: unknown;
}

/** Why the tag cannot be published, in sentences; none when it can. */
export function tagErrors(tag: string, { version, repository }: Manifest, changelog: string): string[] {
  const errors = [];
  if (tag !== `v${version}`) errors.push(`The tag is ${tag}, and package.json says ${version}.`);
  if (!notesOf(changelog, version)) errors.push(`CHANGELOG.md has no notes for ${version}.`);
  // npm refuses provenance for a package that does not name the repository it was built in.
  if (repository === undefined) errors.push('package.json names no "repository", which provenance needs.');
  return errors;
}
