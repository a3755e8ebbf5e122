/** A tag and what it releases. */
import { notesOf } from "./changelog.js";

/** What only the owner knows, and why a publication needs it. */
const OWNERS = {
  repository: "npm's provenance names it",
  homepage: "the directory of components links to it",
  bugs: "users report faults there",
  author: "the license names the owner",
} as const;

export type Manifest = { readonly version: string } & { readonly [Field in keyof typeof OWNERS]?: unknown };

/** Why the tag cannot be published, in sentences; none when it can. */
export function tagErrors(tag: string, manifest: Manifest, changelog: string): string[] {
  const { version } = manifest;
  const errors = [];
  if (tag !== `v${version}`) errors.push(`The tag is ${tag}, and package.json says ${version}.`);
  if (!notesOf(changelog, version)) errors.push(`CHANGELOG.md has no notes for ${version}.`);
  for (const [field, reason] of Object.entries(OWNERS)) {
    if (manifest[field as keyof typeof OWNERS] !== undefined) continue;
    errors.push(`package.json has no "${field}" (${reason}). Set it once: npm pkg set ${field}=...`);
  }
  return errors;
}
