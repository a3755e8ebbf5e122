/** Turns V8's precise coverage into lists of the functions that were executed. */
import { type Profiler } from "node:inspector";

/** The named functions that were executed, by file, in the order of their text. A function without a name lists only its file. */
export type Executed = Readonly<Record<string, readonly string[]>>;

/** @param fileOf the name of a script's file, or undefined to leave the script out */
export function executedIn(
  scripts: readonly Profiler.ScriptCoverage[],
  fileOf: (url: string) => string | undefined,
): Executed {
  const files = scripts.flatMap(({ url, functions }) => {
    const file = fileOf(url);
    const executed = functions.filter(({ functionName, ranges }) => ranges[0]?.count && functionName !== KEEP_NAME);
    if (file === undefined || executed.length === 0) return [];
    const start = ({ ranges }: Profiler.FunctionCoverage) => ranges[0]?.startOffset ?? 0;
    const inOrder = [...executed].sort((a, b) => start(a) - start(b));
    return [[file, inOrder.map(({ functionName }) => functionName).filter((name) => name !== "")] as const];
  });
  return Object.fromEntries(files.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The function that the TypeScript loader adds to each file, to give functions their names. */
const KEEP_NAME = "__name";
