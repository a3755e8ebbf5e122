/** Colours code when the page is built, so that the browser needs no highlighter. The colours are CSS variables. */
import { createCssVariablesTheme, createHighlighter } from "shiki";

const THEME = createCssVariablesTheme({ name: "page", variablePrefix: "--code-" });
const LANGUAGES = ["ts", "tsx", "sh", "json", "http"];

const highlighter = await createHighlighter({ themes: [THEME], langs: LANGUAGES });

export interface Token {
  text: string;
  /** The kind of the token, which is the name of its CSS variable: "token-keyword". Absent for plain text. */
  kind?: string;
}

/** The tokens of each line. */
export function tokensOf(code: string, lang = "ts"): Token[][] {
  const { tokens } = highlighter.codeToTokens(code, { lang: lang as "ts", theme: "page" });
  return tokens.map((line) =>
    line.map(({ content: text, color = "" }) => {
      const kind = /--code-(token-[\w-]+)/.exec(color)?.[1];
      return { text, ...(kind && { kind }) };
    }),
  );
}

/** The lines as HTML. Code in a language without a grammar here stays plain. */
export function htmlOf(code: string, lang: string): string {
  if (!LANGUAGES.includes(lang)) return escaped(code);
  const spanOf = ({ text, kind }: Token) => (kind ? `<span class="${kind}">${escaped(text)}</span>` : escaped(text));
  return tokensOf(code, lang)
    .map((line) => line.map(spanOf).join(""))
    .join("\n");
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
