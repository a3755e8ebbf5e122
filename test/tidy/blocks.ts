/** The code blocks of the documents and of the doc comments. */
import { files, lines, markdown } from "./files.js";

export interface Block {
  /** The file: "README.md". */
  readonly source: string;
  /** The line of its first line of code, counted from 1. */
  readonly line: number;
  /** The text after the three backticks. */
  readonly language: string;
  readonly code: string;
}

/** Every fenced block of every document, and of every comment in src. */
export function allBlocks(): Block[] {
  const sources = files.filter((file) => /^src\/.*\.tsx?$/.test(file));
  return [...markdown.flatMap((file) => blocksIn(file, "")), ...sources.flatMap((file) => blocksIn(file, /^\s*\* ?/))];
}

/** @param margin - what precedes the text in each line. */
function blocksIn(source: string, margin: RegExp | ""): Block[] {
  const text = lines(source)
    .map((line) => line.replace(margin, ""))
    .join("\n");
  if ((text.match(/^```/gm) ?? []).length % 2 !== 0) throw new Error(`${source} has a code block that is not closed`);
  return [...text.matchAll(/^```(.*)\n([^]*?)^```$/gm)].map(({ index, 1: language = "", 2: code = "" }) => {
    const line = text.slice(0, index).split("\n").length + 1;
    return { source, line, language: language.trim(), code };
  });
}
