/** The imports between files of src/ and convex/, type imports included. */
import path from "node:path";
import ts from "typescript";
import { files, read } from "./files.js";

export interface Import {
  readonly from: string;
  readonly to: string;
}

export const sourceFiles = files.filter((file) => /^(src|convex)\/.*\.tsx?$/.test(file));

/** A file's imports of other files of the project, static or dynamic, of values or of types. */
export function importsOf(file: string): Import[] {
  return ts
    .preProcessFile(read(file), true, true)
    .importedFiles.filter(({ fileName }) => fileName.startsWith("."))
    .map(({ fileName }) => ({
      from: file,
      to: path.posix.join(path.posix.dirname(file), fileName).replace(/\.js$/, ".ts"),
    }));
}

/** The files that import themselves, directly or through others, in alphabetical order. */
export function filesInCircles(imports: readonly Import[]): string[] {
  return [...new Set(imports.map(({ from }) => from))].filter((file) => reachable(file, imports).has(file)).sort();
}

function reachable(start: string, imports: readonly Import[]): Set<string> {
  const reached = new Set<string>();
  const open = [start];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    for (const { from, to } of imports) {
      if (from !== file || reached.has(to)) continue;
      reached.add(to);
      open.push(to);
    }
  }
  return reached;
}
