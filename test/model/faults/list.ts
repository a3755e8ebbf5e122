/**
 * Faults in src/ that the fuzzer must find, by what they do. In faults.diff `@@` is followed by a file and `#` by a fault, with the test
 * that finds it where that is not the fuzzer; a text that stands in the file exactly once, and what takes its place.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

export interface Fault {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The test that finds it, where that is not the fuzzer. */
  readonly test: string | undefined;
}

const text = readFileSync(path.join(import.meta.dirname, "faults.diff"), "utf8");

export const faults: readonly Fault[] = text.split(/^@@ /m).flatMap((part) => {
  const [file = "", ...found] = part.split(/^# |\n# /m);
  return found.map((fault): Fault => {
    const [title = "", ...lines] = fault.replace(/\n$/, "").split("\n");
    const [name = "", test] = title.split(" | ");
    const after = (sign: string) => lines.filter((line) => line.startsWith(sign)).map((line) => line.slice(1));
    return { name, file: file.trim(), from: after("-").join("\n"), to: after("+").join("\n"), test };
  });
});
