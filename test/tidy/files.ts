/** The project's own files: those that are written by hand and committed. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export const root = path.resolve(import.meta.dirname, "../..");

const NOT_OURS = new Set(["node_modules", "dist", "coverage", ".git", "_generated"]);

/** The files below a folder of the project, as paths relative to the root, with forward slashes. */
export function filesIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesIn(file);
    return entry.isFile() ? [file] : [];
  });
}

export const files = filesIn(".");
export const markdown = files.filter((file) => file.endsWith(".md"));

export function read(file: string): string {
  return readFileSync(path.join(root, file), "utf8");
}

export function lines(file: string): string[] {
  return read(file).replace(/\n$/, "").split("\n");
}

interface Manifest {
  exports: Record<string, string | { types: string }>;
  scripts: Record<string, string>;
}

export const manifest = JSON.parse(read("package.json")) as Manifest;

/** The source file behind each entry point of the package: `{ "./test": "src/test.ts" }`. */
export const entryPoints: ReadonlyMap<string, string> = new Map(
  Object.entries(manifest.exports).flatMap(([name, target]) => {
    const file = typeof target === "string" ? target : target.types;
    return name.startsWith("./types/")
      ? []
      : [[name, file.replace(/^\.\//, "").replace(/^dist\/(.*)\.d\.ts$/, "$1.ts")]];
  }),
);
