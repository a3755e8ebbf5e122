/**
 * The versions of one document that open snapshots may still read, oldest first. Invariant: timestamps rise, and the oldest open
 * snapshot sees the first version, unless the document did not exist then.
 */
import type { Document } from "./document.js";

export interface Version {
  readonly ts: number;
  /** Null once the document is deleted, or has moved to another key. */
  readonly document: Document | null;
}

export function versionAt(versions: readonly Version[], snapshot: number): Document | null {
  for (let i = versions.length - 1; i >= 0; i--) {
    const version = versions[i];
    if (version && version.ts <= snapshot) return version.document;
  }
  return null;
}

export function wasWrittenSince(versions: readonly Version[], snapshot: number): boolean {
  const last = versions.at(-1);
  return last !== undefined && last.ts > snapshot;
}

/** Adds a version, and removes those that no snapshot from `oldest` on can see. */
export function addVersion(versions: Version[], version: Version, oldest: number): void {
  let unseen = 0;
  while ((versions[unseen + 1]?.ts ?? Infinity) <= oldest) unseen++;
  if (unseen > 0) versions.splice(0, unseen);
  versions.push(version);
}
