/**
 * Checks a tag that is about to be published: `tsx scripts/release/checkTag.ts v1.2.3`. Without a tag, before one is made, it checks
 * the fields of package.json that the owner must have set.
 */
import { readFileSync } from "node:fs";
import { type Manifest, ownerErrors, tagErrors } from "./tag.js";

const [tag] = process.argv.slice(2);
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const errors =
  tag === undefined ? ownerErrors(manifest) : tagErrors(tag, manifest, readFileSync("CHANGELOG.md", "utf8"));
for (const error of errors) console.error(error);
process.exitCode = errors.length > 0 ? 1 : 0;
