/**
 * Faults in src/ that the fuzzer must find. In faults.diff a file follows `@@`, and a fault follows `#`. A fault is a text that is
 * in the file exactly once, and its replacement. A fault without a text changes the text of the fault before it. The mutation run
 * plants faults that unit tests find; one of them is here with its test.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

export interface Fault {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The test that finds it, if that is not the fuzzer. */
  readonly test: string | undefined;
}

const text = readFileSync(path.join(import.meta.dirname, "faults.diff"), "utf8");

export const faults: readonly Fault[] = text.split(/^@@ /m).flatMap((part) => {
  const [file = "", ...found] = part.split(/^# |\n# /m);
  let from = "";
  return found.map((fault): Fault => {
    const [title = "", ...lines] = fault.replace(/\n$/, "").split("\n");
    const [name = "", test] = title.split(" | ");
    const after = (sign: string) => lines.filter((line) => line.startsWith(sign)).map((line) => line.slice(1));
    from = after("-").join("\n") || from;
    return { name, file: file.trim(), from, to: after("+").join("\n"), test };
  });
});
