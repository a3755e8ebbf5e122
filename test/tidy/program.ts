/** TypeScript's view of the project. */
import path from "node:path";
import ts from "typescript";
import { root } from "./files.js";

function parseConfig(): ts.ParsedCommandLine {
  const file = path.join(root, "tsconfig.json");
  const { config } = ts.readConfigFile(file, (name) => ts.sys.readFile(name)) as { config: unknown };
  return ts.parseJsonConfigFileContent(config, ts.sys, root);
}

const parsed = parseConfig();
export const options = parsed.options;

let opened: ts.Program | undefined;

/** All of the project's TypeScript, as `tsc -p .` compiles it. Test files share the program. */
export function openProgram(): ts.Program {
  return (opened ??= ts.createProgram(parsed.fileNames, parsed.options));
}

/** A source file's path, relative to the root. */
export function pathOf(file: ts.SourceFile): string {
  return path.relative(root, file.fileName).split(path.sep).join("/");
}

export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => {
    walk(child, visit);
  });
}
