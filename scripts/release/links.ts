/**
 * The links of the Markdown files in the package. npm packs the files of the working tree. So `prepack` rewrites their links for
 * readers who do not have the repository, and their tables for size, and `postpack` restores the originals.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { repositoryAddress } from "./published.js";

interface Manifest {
  files: string[];
  repository?: unknown;
}

const manifest = (root: string) => JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as Manifest;
const LINK = /(!?)\[([^[\]]*)\]\(([^)\s]+)\)/g;
const PICTURE = /(<(?:img|source)\b[^>]*?\bsrc(?:set)?=")([^"]+)("[^>]*>)/g;
const REFERENCE = /^(\[[^\]]+\]: )([^\s]+)$/gm;

/** The Markdown files that the package contains. Proofs, measurements and comparisons are only in the repository. */
export function shippedPages(root: string): string[] {
  const { files } = manifest(root);
  const docs = readdirSync(path.join(root, "docs")).filter((file) => file.endsWith(".md"));
  const pages = docs.map((file) => `docs/${file}`).filter((file) => !files.includes(`!${file}`));
  return ["README.md", "llms.txt", "llms-full.txt", "CHANGELOG.md", ...pages];
}

/** The file to which a page's link leads, relative to the package; undefined for an address or an anchor of the page itself. */
export function linkedFile(page: string, link: string): string | undefined {
  const [file = ""] = link.split("#");
  if (file === "" || /^[a-z]+:/.test(file)) return undefined;
  return path.posix.normalize(path.posix.join(path.posix.dirname(page), file));
}

/** The text, in which links to files that are not shipped become addresses in the repository or, without one, plain words. */
export function withShippedLinks(text: string, page: string, shipped: Iterable<string>, repository?: string): string {
  const files = new Set([...shipped, "LICENSE"]);
  const isLost = (link: string) => {
    const file = linkedFile(page, link);
    return file !== undefined && !files.has(file);
  };
  const address = (link: string, folder: string) =>
    `${repository ?? ""}/${folder}/HEAD/${linkedFile(page, link) ?? ""}${link.includes("#") ? link.slice(link.indexOf("#")) : ""}`;
  const inline = text.replace(LINK, (whole, image: string, label: string, link: string) => {
    if (!isLost(link)) return whole;
    // The text of a picture describes it for those who cannot see it: without the picture it says nothing.
    if (repository === undefined) return image ? "" : label;
    return `${image}[${label}](${address(link, image ? "raw" : "blob")})`;
  });
  const pictured = inline.replace(PICTURE, (whole, start: string, link: string, end: string) => {
    if (!isLost(link)) return whole;
    return repository === undefined ? "" : `${start}${address(link, "raw")}${end}`;
  });
  return pictured.replace(REFERENCE, (whole, label: string, link: string) => {
    if (!isLost(link)) return whole;
    // A reference without a definition would be printed with its brackets, so this one leads to the start of the page.
    return repository === undefined ? `${label}#` : `${label}${address(link, "blob")}`;
  });
}

/** The text with tables that are not padded: oxfmt aligns them for people who edit them, at the price of 1 % of the tarball. */
export function unpadded(text: string): string {
  return text.replace(/^\|.*\|$/gm, (row) => row.replace(/ {2,}/g, " ").replace(/-{3,}/g, "---"));
}

/** The paths at which a page's original and its packed text are kept. They are in node_modules: npm packs nothing of it. */
function aside(root: string, page: string) {
  const [original = "", packed = ""] = ["pages", "packed"].map((folder) =>
    path.join(root, "node_modules/.cache", folder, page),
  );
  return { original, packed };
}

export function prepare(root: string): void {
  const address = repositoryAddress(manifest(root).repository);
  const shipped = shippedPages(root);
  restore(root);
  for (const page of shipped) {
    const file = path.join(root, page);
    const text = readFileSync(file, "utf8");
    const packed = unpadded(withShippedLinks(text, page, shipped, address));
    write(aside(root, page).original, text);
    write(aside(root, page).packed, packed);
    write(file, packed);
  }
}

/** Restores the originals. If a pack failed and a page has changed since then, what the page says now stays. */
export function restore(root: string): void {
  for (const page of shippedPages(root)) {
    const { original, packed } = aside(root, page);
    if (!existsSync(packed)) continue;
    const file = path.join(root, page);
    if (readFileSync(file, "utf8") === readFileSync(packed, "utf8")) renameSync(original, file);
    rmSync(packed);
  }
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

if (process.argv[2] === "prepare") prepare(".");
if (process.argv[2] === "restore") restore(".");
