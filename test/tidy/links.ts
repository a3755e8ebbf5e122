/** The links of Markdown documents and the anchors of their headings, as GitHub makes them. */

/** The targets of all links and pictures outside code. */
export function linksIn(markdown: string): string[] {
  const prose = withoutCode(markdown);
  const inline = [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)];
  const references = [...prose.matchAll(/^\[[^\]]+\]:\s+(\S+)/gm)];
  const tags = [...prose.matchAll(/\b(?:src|srcset|href)="([^"]+)"/g)];
  return [...inline, ...references, ...tags].map(([, target]) => target ?? "");
}

/** The anchors of a document's headings. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of withoutFences(markdown).matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
      .replaceAll(" ", "-");
    let unique = anchor;
    for (let copy = 1; anchors.has(unique); copy++) unique = `${anchor}-${copy}`;
    anchors.add(unique);
  }
  return anchors;
}

function withoutCode(markdown: string): string {
  return withoutFences(markdown).replace(/`[^`\n]*`/g, "");
}

export function withoutFences(markdown: string): string {
  return markdown.replace(/^```.*?^```$/gms, "");
}
