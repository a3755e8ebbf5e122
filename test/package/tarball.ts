/** The packed tarball: what is in it, what must be, and what must not. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { run } from "./shell.js";

interface Manifest {
  files: string[];
  exports: Record<string, string | Record<string, string>>;
}

export interface Tarball {
  readonly file: string;
  /** The tarball, unpacked: its `package` folder. */
  readonly contents: string;
}

/** Packs the project as `npm publish` would (its `prepack` builds) and unpacks the result beside it. */
export function pack(root: string, into: string): Tarball {
  run(root, "npm", "pack", "--pack-destination", into);
  const name = readdirSync(into).find((entry) => entry.endsWith(".tgz"));
  if (name === undefined) throw new Error("npm pack made no tarball");
  const unpacked = path.join(into, "unpacked");
  mkdirSync(unpacked);
  run(into, "tar", "-xzf", name, "-C", unpacked);
  return { file: path.join(into, name), contents: path.join(unpacked, "package") };
}

/** What is wrong with the contents, in words; nothing when all is well. */
export function faults(root: string, { contents }: Tarball): string[] {
  const packed = list(contents);
  const wrong = packed.filter((file) => !ALLOWED.test(file)).map((file) => `${file} has no place in the package`);
  const missing = expected(root).filter((file) => !packed.includes(file));
  return [...wrong, ...missing.map((file) => `${file} is missing from the package`), ...lostSources(contents, packed)];
}

const ALLOWED =
  /^(package\.json|README\.md|ARCHITECTURE\.md|AGENTS\.md|llms\.txt|CHANGELOG\.md|LICENSE|docs\/[\w-]+\.md|convex\/README\.md|(src|convex)\/[\w/.]+\.tsx?|dist\/(src|convex)\/[\w/.]+\.(js|d\.ts)(\.map)?)$/;

/** Every source, what each is compiled to, and whatever the exports point at. */
function expected(root: string): string[] {
  const sources = ["src", "convex"].flatMap((folder) =>
    list(path.join(root, folder)).map((file) => `${folder}/${file}`),
  );
  const modules = sources.filter((file) => /\.tsx?$/.test(file));
  const compiled = modules
    .filter((file) => file !== "src/test.ts") // It needs Vite's import.meta.glob, so it is shipped as source.
    .flatMap((file) => [".js", ".d.ts"].map((suffix) => `dist/${file.replace(/\.tsx?$/, suffix)}`));
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as Manifest;
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  );
  return [
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "AGENTS.md",
    "llms.txt",
    ...modules,
    ...compiled,
    ...targets.map((file) => file.slice(2)),
  ];
}

/** Source maps whose source did not come along. */
function lostSources(contents: string, packed: string[]): string[] {
  return packed
    .filter((file) => file.endsWith(".map"))
    .flatMap((file) => {
      const { sources } = JSON.parse(readFileSync(path.join(contents, file), "utf8")) as { sources: string[] };
      return sources
        .filter((source) => !existsSync(path.resolve(contents, path.dirname(file), source)))
        .map((source) => `${file} points at ${source}, which is not in the package`);
    });
}

/** All files below a folder, as paths relative to it, with forward slashes. */
function list(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).split(path.sep).join("/"));
}
