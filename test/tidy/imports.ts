/** Who imports whom: files of src/ and convex/, type imports included. */
import path from "node:path";
import ts from "typescript";
import { files, read } from "./files.js";

export interface Import {
  readonly from: string;
  readonly to: string;
}

export const sourceFiles = files.filter((file) => /^(src|convex)\/.*\.tsx?$/.test(file));

/** Imports of other files of the project, static or dynamic, of values or of types. */
export function importsOf(file: string): Import[] {
  return ts
    .preProcessFile(read(file), true, true)
    .importedFiles.filter(({ fileName }) => fileName.startsWith("."))
    .map(({ fileName }) => ({
      from: file,
      to: path.posix.join(path.posix.dirname(file), fileName).replace(/\.js$/, ".ts"),
    }));
}

/** Groups of files each of which imports itself by way of the others, in alphabetical order. */
export function circlesIn(imports: readonly Import[]): string[][] {
  const names = [...new Set(imports.flatMap(({ from, to }) => [from, to]))];
  const reached = new Map(names.map((name) => [name, reachable(name, imports)]));
  const circles = names.map((name) =>
    names.filter((other) => reached.get(name)?.has(other) && reached.get(other)?.has(name)).sort(),
  );
  return [...new Set(circles.filter((circle) => circle.length > 0).map((circle) => circle.join(" ")))]
    .sort()
    .map((circle) => circle.split(" "));
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
