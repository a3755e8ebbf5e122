/** The packed tarball: its files, those that it must contain, and those that it must not. */
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { linkedFile, shippedPages } from "../../scripts/release/links.js";
import { linksIn } from "../tidy/links.js";
import { run } from "./shell.js";

type Manifest = { exports: Record<string, string | Record<string, string>> };

export interface Tarball {
  readonly file: string;
  /** The `package` folder of the unpacked tarball. */
  readonly contents: string;
}

/** Packs the project as `npm publish` does (its `prepack` builds), and unpacks the tarball in the same folder. */
export async function pack(root: string, into: string): Promise<Tarball> {
  await run(root, "npm", "pack", "--pack-destination", into);
  const name = readdirSync(into).find((entry) => entry.endsWith(".tgz"));
  if (name === undefined) throw new Error("npm pack made no tarball");
  const unpacked = path.join(into, "unpacked");
  mkdirSync(unpacked);
  await run(into, "tar", "-xzf", name, "-C", unpacked);
  return { file: path.join(into, name), contents: path.join(unpacked, "package") };
}

/** Runs `npm publish --dry-run` with the fields that only the owner knows filled in. */
export async function publishDry({ contents }: Tarball): Promise<void> {
  const address = "https://github.com/someone/convex-rate-limits";
  const owner = { repository: address, homepage: `${address}#readme`, bugs: `${address}/issues`, author: "Someone" };
  await run(contents, "npm", "pkg", "set", ...Object.entries(owner).map(([field, value]) => `${field}=${value}`));
  // The contents are built already, and npm would build them again.
  await run(contents, "npm", "publish", "--dry-run", "--ignore-scripts", "--access", "public");
}

/** The largest permitted sizes in bytes, and number of files: the cost of installing the package. llms-full.txt takes 22 kB. */
const MOST = { packed: 275_000, unpacked: 1_210_000, files: 400 };

/** The faults of the tarball, as messages; empty if it has none. */
export function faults(root: string, { file, contents }: Tarball): string[] {
  const packed = list(contents);
  const wrong = packed.filter((name) => !ALLOWED.test(name)).map((name) => `${name} has no place in the package`);
  const missing = expected(root).filter((name) => !packed.includes(name));
  const size = {
    packed: statSync(file).size,
    unpacked: packed.reduce((sum, name) => sum + statSync(path.join(contents, name)).size, 0),
    files: packed.length,
  };
  const names = Object.keys(MOST) as (keyof typeof MOST)[];
  console.log(`the tarball: ${names.map((name) => `${size[name]} ${name}`).join(", ")}`);
  return [
    ...wrong,
    ...missing.map((name) => `${name} is missing from the package`),
    ...names
      .filter((name) => size[name] > MOST[name])
      .map((name) => `${name}: ${size[name]} is more than ${MOST[name]}`),
    ...deadLinks(contents, packed),
    ...deadImports(contents, packed),
  ];
}

const ALLOWED =
  /^(package\.json|README\.md|llms(-full)?\.txt|CHANGELOG\.md|LICENSE|docs\/[\w-]+\.md|dist\/(src|convex)\/[\w/.]+\.(js|d\.ts))$/;

/** The files that the package must contain: pages, compiled sources, and the targets of its exports. */
function expected(root: string): string[] {
  const sources = ["src", "convex"].flatMap((folder) =>
    list(path.join(root, folder)).map((file) => `${folder}/${file}`),
  );
  const compiled = sources
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => `dist/${file.replace(/\.tsx?$/, ".js")}`);
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as Manifest;
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  );
  return [
    "LICENSE",
    ...shippedPages(root),
    ...compiled,
    ...targets.map((file) => file.slice(2)).filter((file) => !file.includes("*")),
  ];
}

/** Relative links of shipped pages to files that are not shipped. */
function deadLinks(contents: string, packed: string[]): string[] {
  const pages = packed.filter((file) => /\.(md|txt)$/.test(file));
  return pages.flatMap((page) =>
    linksIn(readFileSync(path.join(contents, page), "utf8"))
      .flatMap((link) => linkedFile(page, link) ?? [])
      .filter((file) => !packed.includes(file))
      .map((file) => `${page} links to ${file}, which is not in the package`),
  );
}

/** Imports of shipped code and types that lead to no shipped file. Those of examples, in comments, are indented. */
function deadImports(contents: string, packed: string[]): string[] {
  const types = packed.filter((file) => file.endsWith(".d.ts"));
  const code = packed.filter((file) => file.endsWith(".js"));
  return [...types, ...code].flatMap((file) => {
    const text = readFileSync(path.join(contents, file), "utf8");
    const imports = [...text.matchAll(/^(?:im|ex)port\b[^;]*? from "(\..+?)"|\bimport\("(\..+?)"\)/gm)];
    const targets = imports.map(([, from, inline = ""]) => path.posix.join(path.posix.dirname(file), from ?? inline));
    const files = types.includes(file) ? targets.map((target) => target.replace(/\.js$/, ".d.ts")) : targets;
    // The compiler may itself write into types a package that apps do not have.
    const strange = [...text.matchAll(/\bimport\("([^.].*?)"/g)].map(([, name = ""]) => name);
    return [...files, ...strange]
      .filter((target) => !packed.includes(target) && !target.startsWith("convex/"))
      .map((target) => `${file} imports ${target}, not in the package`);
  });
}

/** All files below a folder, as paths relative to it, with forward slashes. */
function list(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).split(path.sep).join("/"));
}
