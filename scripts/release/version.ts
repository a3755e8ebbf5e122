/**
 * `npm version` runs this after it has written package.json. It adds the release's section to the changelog, makes the changes of a
 * publication to the documents, and stages them for the commit.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { withRelease } from "./changelog.js";
import { INSTALLED_BY, published, repositoryAddress } from "./published.js";
import { type Manifest } from "./tag.js";

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest & { readonly name: string };
const today = new Date().toISOString().slice(0, "YYYY-MM-DD".length);
writeFileSync("CHANGELOG.md", withRelease(readFileSync("CHANGELOG.md", "utf8"), manifest.version, today));
for (const page of INSTALLED_BY) {
  const address = repositoryAddress(manifest.repository) ?? "";
  writeFileSync(page, published(page, readFileSync(page, "utf8"), manifest.name, address));
}
// llms.txt and llms-full.txt are made from these pages.
execFileSync("npm", ["run", "assistants"]);
execFileSync("git", ["add", "CHANGELOG.md", "llms.txt", "llms-full.txt", ...INSTALLED_BY]);
