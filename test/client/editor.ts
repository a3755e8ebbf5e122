/** TypeScript's language service on a file that exists in memory only: an editor's completions, hover texts and messages. */
import { readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";

const root = path.resolve(import.meta.dirname, "../..");

/** Holds the files that all programs share, so that each is parsed once. */
const registry = ts.createDocumentRegistry();

/** @param extra - compiler options that replace the repository's. */
export function openEditor(text: string, extra: ts.CompilerOptions = {}) {
  const file = path.join(root, "test/editor.ts");
  const { config } = ts.readConfigFile(path.join(root, "tsconfig.json"), (name) => ts.sys.readFile(name)) as {
    config: unknown;
  };
  const options = { ...ts.parseJsonConfigFileContent(config, ts.sys, root).options, ...extra };
  const host: ts.LanguageServiceHost = {
    ...ts.sys,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: (name) => (name === file ? text : ts.sys.readFile(name)),
    getCompilationSettings: () => options,
    getCurrentDirectory: () => root,
    getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
    getScriptFileNames: () => [file],
    // The registry recognises a file by its version.
    getScriptVersion: (name) => (name === file ? text : "1"),
    getScriptSnapshot: (name) => {
      if (name === file) return ts.ScriptSnapshot.fromString(text);
      return ts.sys.fileExists(name) ? ts.ScriptSnapshot.fromString(readFileSync(name, "utf8")) : undefined;
    },
  };
  const service = ts.createLanguageService(host, registry);
  const place = (mark: string) => {
    const at = text.indexOf(`/*${mark}*/`);
    if (at < 0) throw new Error(`There is no mark ${mark}.`);
    return at;
  };
  return {
    /** The completions at the comment with this text, in alphabetical order. */
    offered: (mark: string) =>
      (service.getCompletionsAtPosition(file, place(mark), {})?.entries ?? [])
        .map(({ name }) => name)
        // TypeScript also offers the text that is being typed.
        .filter((name) => name !== `/*${mark}*/`)
        .sort(),
    /** The hover text of the word before the comment with this text: its documentation. */
    shown: (mark: string) =>
      ts
        .displayPartsToString(service.getQuickInfoAtPosition(file, place(mark) - 1)?.documentation)
        .replace(/\s+/g, " "),
    /** The compiler's messages. */
    messages: (): ts.Diagnostic[] => [
      ...service.getSyntacticDiagnostics(file),
      ...service.getSemanticDiagnostics(file),
    ],
  };
}
