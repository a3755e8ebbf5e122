/** Runs within `npm version`, which has written package.json: makes the changelog's section and stages it for the commit. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { withRelease } from "./changelog.js";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
const today = new Date().toISOString().slice(0, "YYYY-MM-DD".length);
writeFileSync("CHANGELOG.md", withRelease(readFileSync("CHANGELOG.md", "utf8"), version, today));
execFileSync("git", ["add", "CHANGELOG.md"]);
