/** Compiles apps that exist in memory only, against the package's exports. */
import path from "node:path";
import ts from "typescript";
import type { App, AppFile } from "./apps.js";
import { entryPoints, root } from "./files.js";
import { options } from "./program.js";

/** A program of the apps, and their files by the names that these have in it. */
export function compile(apps: readonly App[]): { program: ts.Program; files: ReadonlyMap<string, AppFile> } {
  const files = new Map<string, AppFile>();
  apps.forEach((app, index) => {
    for (const [file, content] of app) files.set(path.join(root, `.docs/app${index}`, file), content);
  });
  return { program: ts.createProgram([...files.keys()], settings(), hostWith(files)), files };
}

/** The compiler's errors in the apps: "README.md:12 message". */
export function faultsIn(apps: readonly App[]): string[] {
  const { program, files } = compile(apps);
  return [...files].flatMap(([name, file]) => {
    const source = program.getSourceFile(name);
    const diagnostics = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return diagnostics.map(
      (diagnostic) =>
        `${placeOf(diagnostic, file, name)} ${ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n")}`,
    );
  });
}

/** The project's own settings, except that only the package's exports can be imported. */
function settings(): ts.CompilerOptions {
  const paths = [...entryPoints].map(([name, file]) => {
    return [path.posix.join("convex-rate-limits", name), [path.join(root, file)]];
  });
  return {
    ...options,
    // An example need not use its result.
    noUnusedLocals: false,
    noUnusedParameters: false,
    paths: Object.fromEntries(paths) as Record<string, string[]>,
  };
}

function hostWith(files: ReadonlyMap<string, AppFile>): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const folders = new Set([...files.keys()].flatMap((file) => ancestors(file)));
  const textOf = (name: string) => files.get(path.normalize(name))?.text;
  return {
    ...host,
    fileExists: (name) => textOf(name) !== undefined || host.fileExists(name),
    readFile: (name) => textOf(name) ?? host.readFile(name),
    directoryExists: (name) => folders.has(path.normalize(name)) || ts.sys.directoryExists(name),
    getSourceFile: (name, version, ...rest) => {
      const text = textOf(name);
      return text === undefined
        ? host.getSourceFile(name, version, ...rest)
        : ts.createSourceFile(name, text, version, true);
    },
  };
}

function ancestors(file: string): string[] {
  const folder = path.dirname(file);
  return folder === file ? [] : [folder, ...ancestors(folder)];
}

function placeOf(diagnostic: ts.Diagnostic, { block }: AppFile, name: string): string {
  if (!block || !diagnostic.file || diagnostic.start === undefined) return path.relative(root, name);
  const { line } = diagnostic.file.getLineAndCharacterOfPosition(diagnostic.start);
  return `${block.source}:${block.line + line}`;
}
