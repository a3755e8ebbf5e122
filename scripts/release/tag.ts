/** Checks of a tag, and of the package that it releases. */
import { notesOf } from "./changelog.js";
import { repositoryAddress } from "./published.js";

/** The fields of package.json that only the owner can set, and why a publication needs each. */
const OWNERS = {
  repository: "npm's provenance names it",
  homepage: "the directory of components links to it",
  bugs: "users report faults there",
  author: "npm shows whose package it is",
} as const;

export type Manifest = { readonly version: string } & { readonly [Field in keyof typeof OWNERS]?: unknown };

/** The reasons why the tag cannot be published, in sentences; none if it can. */
export function tagErrors(tag: string, manifest: Manifest, changelog: string): string[] {
  const { version } = manifest;
  const errors = [];
  if (tag !== `v${version}`) errors.push(`The tag is ${tag}, and package.json says ${version}.`);
  if (!notesOf(changelog, version)) errors.push(`CHANGELOG.md has no notes for ${version}.`);
  return [...errors, ...ownerErrors(manifest)];
}

/** The fields that the owner has not set, or copied with their placeholders from CONTRIBUTING.md, in sentences. */
export function ownerErrors(manifest: Manifest): string[] {
  const isMissing = (value: unknown) => value === undefined || /OWNER|\.\.\.|^""$/.test(JSON.stringify(value));
  const missing = Object.entries(OWNERS).filter(([field]) => isMissing(manifest[field as keyof typeof OWNERS]));
  const errors = missing.map(
    ([field, reason]) =>
      `package.json has no "${field}", or a placeholder (${reason}). CONTRIBUTING.md, "Releases", says how to set it.`,
  );
  if (manifest.repository === undefined || repositoryAddress(manifest.repository) !== undefined) return errors;
  return [
    ...errors,
    `"repository" is not on GitHub, where the badges and links lead. CONTRIBUTING.md, "Releases", says how to set it.`,
  ];
}
