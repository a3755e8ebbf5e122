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
  const documents = markdown.map((file) => ({ file, margin: "" }));
  const sources = files
    .filter((file) => /^src\/.*\.tsx?$/.test(file))
    .map((file) => ({ file, margin: String.raw`\s*\* ?` }));
  return [...documents, ...sources].flatMap(({ file, margin }) => blocksIn(file, lines(file), margin));
}

function blocksIn(source: string, text: readonly string[], margin: string): Block[] {
  const fence = new RegExp(`^${margin}\`\`\`(.*)$`);
  const start = new RegExp(`^${margin}`);
  const blocks: Block[] = [];
  let open: { line: number; language: string } | undefined;
  text.forEach((line, index) => {
    const mark = fence.exec(line);
    if (!mark) return;
    if (open) {
      const code = text.slice(open.line - 1, index).map((codeLine) => codeLine.replace(start, ""));
      blocks.push({ source, ...open, code: code.join("\n") });
      open = undefined;
    } else {
      open = { line: index + 2, language: (mark[1] ?? "").trim() };
    }
  });
  if (open) throw new Error(`${source}:${open.line} begins a code block that is not closed`);
  return blocks;
}
