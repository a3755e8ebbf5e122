/** The files and lines into which faults are planted. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

/** The TypeScript files that are named or are in a named folder, relative to the root. @throws if a name does not exist */
export function filesOf(root: string, names: readonly string[]): string[] {
  const files = names.flatMap((name) => {
    const place = path.posix.normalize(name);
    if (statSync(path.join(root, place)).isFile()) return [place];
    const entries = readdirSync(path.join(root, place), { recursive: true, encoding: "utf8" });
    return entries.filter((entry) => entry.endsWith(".ts")).map((entry) => path.posix.join(place, entry));
  });
  return [...new Set(files)].sort();
}

/**
 * `size` lines of code from the files, as `file:line-line`, chosen by the seed. Only a full run has faults that span several lines.
 */
export function sampleLines(root: string, files: readonly string[], size: number, seed: number): string[] {
  if (!Number.isInteger(size) || size < 1)
    throw new Error(`--sample must be a whole number of lines above 0, not ${size}`);
  const lines = files.flatMap((file) => {
    const text = readFileSync(path.join(root, file), "utf8").split("\n");
    return text.flatMap((line, index) => (holdsCode(line) ? [`${file}:${index + 1}-${index + 1}`] : []));
  });
  const random = randomFrom(seed);
  const drawn = lines.map((line) => ({ line, at: random() })).sort((a, b) => a.at - b.at);
  return drawn.slice(0, size).map(({ line }) => line);
}

/** Whether a line is code: not a comment, an import, a type, only brackets, or empty. */
function holdsCode(line: string): boolean {
  return !/^\s*(\/\/|\/?\*|import\b|export type\b|type\b|$)/.test(line) && /\w/.test(line);
}

/** A linear congruential generator with the constants of Numerical Recipes: the same numbers in [0, 1) for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
