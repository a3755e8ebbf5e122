/**
 * `import code from "./module.ts?code"` loads the code of a module as the page shows it: shortened, coloured, and with the numbers
 * that the visitor may edit.
 */
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";
import { type Token, tokensOf } from "./highlight.js";

/** The number that a piece of the code is: a field of a limit, or the count of a call, for which `limit` is absent. */
export interface Editable {
  limit?: string;
  field: "rate" | "period" | "capacity" | "maxReserved" | "count";
}

export interface Piece extends Token {
  edit?: Editable;
}

/** A piece as it is sent to the page, in half as many bytes. */
export type PackedPiece = string | readonly [text: string, kind: string | 0, edit?: Editable];

const QUERY = "?code";

export function codeModules(): Plugin {
  return {
    name: "code-modules",
    enforce: "pre",
    load(id) {
      if (!id.endsWith(QUERY)) return null;
      const file = id.slice(0, -QUERY.length);
      this.addWatchFile(file);
      const lines = piecesOf(storyOf(readFileSync(file, "utf8"))).map((line) => line.map(pack));
      return { code: `export default ${JSON.stringify(lines)};`, moduleType: "js" };
    },
  };
}

function pack({ text, kind, edit }: Piece): PackedPiece {
  if (edit) return [text, kind ?? 0, edit];
  return kind ? [text, kind] : text;
}

export function piecesOf(code: string): Piece[][] {
  const text = code.trimEnd();
  const lines = tokensOf(text);
  let limit: string | undefined;
  return text.split("\n").map((line, n) => {
    limit = /^ {2}(\w+): \{$/.exec(line)?.[1] ?? (line.startsWith("}") ? undefined : limit);
    const [, lead = "", field, value = ""] = FIELD.exec(line) ?? COUNT.exec(line) ?? [];
    const tokens = lines[n] ?? [];
    if (field === undefined) return tokens;
    const edit = { ...(field !== "count" && limit && { limit }), field: field as Editable["field"] };
    if (field !== "count" && !limit) return tokens;
    return [
      ...cut(tokens, 0, lead.length),
      { ...cut(tokens, lead.length, lead.length + value.length)[0], text: value, edit },
      ...cut(tokens, lead.length + value.length, line.length),
    ];
  });
}

/** Shortens a module. The called function comes first. Imports, and code that only the page needs, are left out. */
function storyOf(code: string): string {
  const [story = ""] = code.split(/^\/\/ For the page/m);
  // A blank line within a function is followed by an indented one.
  const blocks = story
    .split(/\n\n(?=\S)/)
    .map((block) =>
      block
        .split("\n")
        .filter((line) => !PLUMBING.test(line))
        .join("\n")
        .trim(),
    )
    .map((block) => block.replace(", config }", " }"))
    .filter((block) => block !== "" && !/^(?:\/\*\*[^]*?\*\/\n)?import /.test(block));
  const called = blocks.findIndex((block) => CALLED.test(block));
  return [...blocks.splice(called, 1), ...blocks].join("\n\n");
}

const CALLED = /^export (?:const \w+ = (?:mutation|action|httpAction)\(|async function )/m;
/** Lines that pass on the numbers that were edited in a room. */
const PLUMBING = /\bconfigOf\b|^\s*config(?:: edited)?,$/;

const FIELD = /^( {4}(rate|period|capacity|maxReserved): )(.+),$/;
const COUNT = /^(.*\b(count) = )(\d+)\b/;

/** The part of a line from one column to another. */
function cut(tokens: readonly Token[], from: number, to: number): Token[] {
  let column = 0;
  return tokens.flatMap((token) => {
    const start = column;
    column += token.text.length;
    const text = token.text.slice(Math.max(0, from - start), Math.max(0, to - start));
    return text === "" ? [] : [{ ...token, text }];
  });
}
