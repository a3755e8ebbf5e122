/**
 * `import code from "./module.ts?code"`: the text of a module as the page shows it, with its colours, and with the places where
 * the visitor may edit it.
 */
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";
import { type Token, tokensOf } from "./highlight.js";

/** Which number of which limit a piece of the code is; `limit` is absent for the count of a call. */
export interface Editable {
  limit?: string;
  field: "rate" | "period" | "capacity" | "maxReserved" | "count";
}

export interface Piece extends Token {
  edit?: Editable;
}

/** A piece as it is sent: half as many bytes. */
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
      const lines = piecesOf(readFileSync(file, "utf8")).map((line) => line.map(pack));
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
      { text: value, edit },
      ...cut(tokens, lead.length + value.length, line.length),
    ];
  });
}

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
