/** The blocks of a page that need more than their plain HTML: code, tables, pictures and headings. */
import { existsSync, readFileSync } from "node:fs";
import type { Env, MarkdownIt, Token } from "markdown-it";
import { escaped, htmlOf } from "./highlight.js";

/** The columns from which a table is a list on a phone, where it would be wider than the screen. */
const LIST_COLUMNS = 4;
/** The size in CSS pixels below which the text of a picture is not readable. */
const LEGIBLE_PX = 11;

/** Code with a button that copies it. `data-copy` names no element: the button copies the code beside it. */
export function codeBlock(html: string): string {
  return (
    '<div class="scroller code"><pre tabindex="0"><code>' +
    `${html}</code></pre><button type="button" class="copy" data-copy>Copy</button></div>\n`
  );
}

/** @param fileOf - the path on this machine of a picture's address on the site */
export function useBlocks({ renderer }: MarkdownIt, fileOf: (src: string) => string): void {
  const { rules } = renderer;
  rules["fence"] = (tokens, index) => {
    const { content, info } = tokens[index] ?? { content: "", info: "" };
    return codeBlock(htmlOf(content.trimEnd(), info.trim()));
  };
  // Wide content scrolls in its own box, so that the page does not scroll sideways.
  rules["table_open"] = (tokens, index, options, _env, self) =>
    `<div class="scroller"><div class="wide" tabindex="0">${self.renderToken(tokens, index, options)}`;
  rules["table_close"] = () => "</table></div></div>";
  rules["image"] = (tokens, index, options, env: Env | undefined, self) => {
    const token = tokens[index];
    const src = String(token?.attrGet("src") ?? "");
    const alt = self.renderInlineAsText(token?.children ?? [], options, env);
    return (
      `<span class="scroller picture"><span class="wide" tabindex="0">` +
      `<img src="${escaped(src)}" alt="${escaped(alt)}"${sizeOf(fileOf(src))}></span></span>`
    );
  };
  rules["heading_close"] = (tokens, index, options, _env, self) => {
    const anchor = tokens[index - 2]?.attrGet("id");
    const link = `<a class="anchor" href="#${anchor ?? ""}" aria-label="Link to this section"></a>`;
    return (tokens[index]?.tag === "h1" ? "" : link) + self.renderToken(tokens, index, options);
  };
}

/** Marks tables of many columns. On a phone they are lists, in which each cell begins with the name of its column. */
export function markLists(tokens: readonly Token[]): void {
  tokens.forEach((token, index) => {
    if (token.type === "table_open") markList(tokens.slice(index, index + tokens.slice(index).findIndex(isTableEnd)));
  });
}

const isTableEnd = ({ type }: Token) => type === "table_close";

function markList(table: readonly Token[]): void {
  const names = table.flatMap(({ type }, index) => (type === "th_open" ? textOf(table[index + 1]) : []));
  if (names.length < LIST_COLUMNS) return;
  table[0]?.attrSet("class", "list");
  let column = 0;
  for (const token of table) {
    // A row that is shown as a block keeps its role only if the role is written down.
    const role = token.nesting === 1 ? ROLES[token.tag] : undefined;
    if (role) token.attrSet("role", role);
    if (token.type === "tr_open") column = 0;
    if (token.type !== "td_open") continue;
    const name = names[column++] ?? "";
    // The first cell is the heading of its row.
    if (column > 1 && name !== "") token.attrSet("data-label", name);
  }
}

const ROLES: Readonly<Record<string, string>> = {
  table: "table",
  thead: "rowgroup",
  tbody: "rowgroup",
  tr: "row",
  th: "columnheader",
  td: "cell",
};

export function textOf(token: { children: readonly Token[] | null } | undefined): string {
  return (token?.children ?? [])
    .map(({ type, content }) => (type === "softbreak" ? " " : type === "html_inline" ? "" : content))
    .join("");
}

/** The size of a drawing: its shape, so that nothing jumps when it arrives, and the least width at which its text is legible. */
function sizeOf(file: string): string {
  const svg = file.endsWith(".svg") && existsSync(file) ? readFileSync(file, "utf8") : "";
  const [, width = "", height = ""] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg) ?? [];
  const sizes = [...svg.matchAll(/font(?:-size)?[:=]\s*"?([\d.]+)/g)].map(([, size]) => Number(size));
  if (width === "") return "";
  const least = Math.ceil((Number(width) * LEGIBLE_PX) / Math.min(...sizes, LEGIBLE_PX * 2));
  return ` width="${width}" height="${height}" style="min-width:${least}px"`;
}
