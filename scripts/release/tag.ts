/** A tag and what it releases. */
import { notesOf } from "./changelog.js";
import { repositoryAddress } from "./published.js";

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
  return [...errors, ...ownerErrors(manifest)];
}

/** What the owner has not said, in sentences. */
export function ownerErrors(manifest: Manifest): string[] {
  const missing = Object.entries(OWNERS).filter(([field]) => manifest[field as keyof typeof OWNERS] === undefined);
  const errors = missing.map(
    ([field, reason]) => `package.json has no "${field}" (${reason}). Set it once: npm pkg set ${field}=...`,
  );
  if (manifest.repository === undefined || repositoryAddress(manifest.repository) !== undefined) return errors;
  return [
    ...errors,
    `"repository" is not on GitHub, where the badges and links lead to. Set it: npm pkg set repository=github:owner/name`,
  ];
}
