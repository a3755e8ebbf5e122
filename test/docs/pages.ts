/**
 * The code of the docs as modules to import. "docs:recipes/convex/limits" is the block of docs/recipes.md that begins with
 * "// convex/limits.ts", and "docs:recipes" has all of the page's files in the form that convex-test takes. Several pages can be one app:
 * "docs:http-keys,http". If a file is written twice, the later block replaces the earlier one, as for a reader. The files that Convex would
 * generate are added; test/tidy compiles the blocks with their types. "docs:moved" is the app of test/compat/app with the lines that
 * docs/migrating.md changes. "docs:README" is the README of the package, "docs:auth" the app of docs/start.md with its caller of Convex
 * Auth, "docs:task-daily" an app that solves a task of test/assistants, and "docs:trap-daily" the same with a mistake.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Plugin } from "vitest/config";
import { TRAPS } from "../assistants/traps.js";

const docs = path.resolve(import.meta.dirname, "../../docs");
const official = path.resolve(import.meta.dirname, "../compat/app");

/** The folder of the modules. It does not exist: this plugin makes the files that are imported from it. */
export const APPS = path.resolve(import.meta.dirname, "../../.docs");

const AUTH = "@convex-dev/auth/server";
const GENERATED = {
  // As Convex Auth does: the subject is the user's id and the session's.
  "convex/_generated/auth.ts": `
    export async function getAuthUserId(ctx) {
      return (await ctx.auth.getUserIdentity())?.subject.split("|")[0] ?? null;
    }`,
  "convex/_generated/api.ts": `
    import { anyApi, componentsGeneric } from "convex/server";
    export { anyApi as api, anyApi as internal };
    export const components = componentsGeneric();`,
  "convex/_generated/server.ts": `
    export {
      actionGeneric as action, httpActionGeneric as httpAction, internalActionGeneric as internalAction,
      internalMutationGeneric as internalMutation, internalQueryGeneric as internalQuery, mutationGeneric as mutation,
      queryGeneric as query,
    } from "convex/server";`,
};

/** The solutions of test/assistants, or those of another assistant. */
const solutions = process.env["SOLUTIONS"] ?? path.resolve(import.meta.dirname, "../assistants/solutions");

function readPage(page: string): string {
  const [, kind, task = ""] = /^(task|trap)-(.+)$/.exec(page) ?? [];
  if (kind === undefined) return readFileSync(path.join(docs, page === "README" ? ".." : "", `${page}.md`), "utf8");
  const solution = readFileSync(path.join(solutions, `${task}.md`), "utf8");
  const [right = "", wrong = ""] = TRAPS[task] ?? [];
  return kind === "trap" ? solution.replace(right, wrong) : solution;
}

/** The lines that docs/migrating.md changes, before and after. */
export const moves = [...readPage("migrating").matchAll(/^-(.+)\n\+(.+)$/gm)].map(
  ([, before = "", after = ""]) => [before, after] as const,
);

/** The files of test/compat/app, without generated files, as the page changes them. */
export function movedApp(): ReadonlyMap<string, string> {
  const files = readdirSync(official, { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.tsx?$/.test(file) && !file.includes("_generated"),
  );
  const moved = (text: string) => moves.reduce((all, [before, after]) => all.replace(before, after), text);
  return new Map(files.map((file) => [file, moved(readFileSync(path.join(official, file), "utf8"))]));
}

/** The blocks of docs/start.md that move its limits into the component. */
export function blocksOfPlace(): ReadonlyMap<string, string> {
  return filesIn(readPage("start").replace(/^[^]*### Where limits live/, ""), "text");
}

/** The blocks of pages that name a file. */
export function blocksOf(pages: string): ReadonlyMap<string, string> {
  const text = pages.split(",").map(readPage).join("\n");
  const files = filesIn(text);
  // Pages import the caller from docs/start.md without repeating it.
  const caller = filesIn(readPage("start")).get(CALLER);
  if (caller !== undefined && !files.has(CALLER) && text.includes('from "./caller"')) files.set(CALLER, caller);
  return files;
}

const CALLER = "convex/caller.ts";

function filesIn(text: string, language = "tsx?"): Map<string, string> {
  const block = new RegExp(`^\`\`\`${language}\\n(// ((?:convex|src)/\\S+\\.tsx?)\\b[^\\n]*\\n.*?)^\`\`\``, "gms");
  const blocks = [...text.matchAll(block)];
  return new Map(blocks.map(([, code = "", file = ""]) => [file, code]));
}

/** @param pages - their names, separated by commas. */
function appOf(pages: string): ReadonlyMap<string, string> {
  const own = pages === "moved" ? movedApp() : blocksOf(pages === "auth" ? "start" : pages);
  const files = new Map([...Object.entries(GENERATED), ...own]);
  if (pages === "auth") files.set(CALLER, filesIn(readPage("start"), "text").get(CALLER) ?? "");
  const modules = [...files.keys()].filter((file) => file.endsWith(".ts"));
  const imports = modules.map((file) => `"./${file}": () => import("./${file}")`);
  return files.set("index.ts", `export default { ${imports.join(", ")} };`);
}

export function documents(): Plugin {
  return {
    name: "documents",
    enforce: "pre",
    resolveId(source, importer) {
      // A test that chooses the app when it runs imports a path: names such as "docs:start" are resolved only in static imports.
      if (source.startsWith(APPS)) return source;
      if (source.startsWith("docs:")) {
        const [pages = "", ...file] = source.slice("docs:".length).split("/");
        return path.join(APPS, pages, `${file.length === 0 ? "index" : file.join("/")}.ts`);
      }
      // Convex Auth is not installed: an app of the tasks gets what stands for it.
      if (source === AUTH && importer?.startsWith(APPS)) return path.join(path.dirname(importer), "_generated/auth.ts");
      if (!importer?.startsWith(APPS) || !source.startsWith(".")) return undefined;
      return `${path.resolve(path.dirname(importer), source).replace(/\.[jt]s$/, "")}.ts`;
    },
    load(id) {
      if (!id.startsWith(APPS)) return undefined;
      const [pages = "", ...file] = path.relative(APPS, id).split(path.sep);
      const code = appOf(pages).get(file.join("/"));
      if (code === undefined) throw new Error(`docs/${pages}.md has no block of ${file.join("/")}.`);
      // The page's test reads the app's modules from the reader's disk.
      return code.replace('import.meta.glob("./**/*.ts")', `(await import("docs:${pages}")).default`);
    },
  };
}
