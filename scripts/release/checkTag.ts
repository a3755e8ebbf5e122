/** What must be true of the tag that is about to be published: `tsx scripts/release/checkTag.ts v1.2.3`. */
import { readFileSync } from "node:fs";
import { type Manifest, tagErrors } from "./tag.js";

const [tag = ""] = process.argv.slice(2);
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const errors = tagErrors(tag, manifest, readFileSync("CHANGELOG.md", "utf8"));
for (const error of errors) console.error(error);
process.exitCode = errors.length > 0 ? 1 : 0;
