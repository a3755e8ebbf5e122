/**
 * The files for the assistants of this package's users: llms.txt lists the pages, and AGENTS.md has those parts of them that are
 * needed to write code. Both are made from the documents, so that nothing is written twice. test/tidy checks that they match.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { format, resolveConfig } from "prettier";

const root = path.resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");

/** The page that lists all pages. */
const INDEX = "docs/README.md";

/**
 * The parts of AGENTS.md. Each has its heading there, and comes from a section of a page or, without a section, from the page's
 * beginning.
 */
const PARTS = [
  { heading: "Install", page: "docs/start.md", section: "Install" },
  { heading: "Choose the key", page: "docs/start.md", section: "Choose the key" },
  { heading: "Limit a mutation", page: "docs/start.md", section: "Limit a mutation" },
  { heading: "Read the answer", page: "docs/start.md", section: "Read the answer" },
  { heading: "Keys and places", page: "docs/start.md", section: "Details" },
  { heading: "Do not", page: "docs/pitfalls.md", section: undefined },
  { heading: "Functions", page: "docs/functions.md", section: undefined },
  { heading: "Plans", page: "docs/plans.md", section: undefined },
  { heading: "Kinds", page: "docs/choosing.md", section: undefined },
  { heading: "Fields of a limit", page: "docs/choosing.md", section: "Look up a field" },
  { heading: "Show a limit: a query", page: "docs/react.md", section: "Expose a limit" },
  { heading: "Show a limit: a component", page: "docs/react.md", section: "Disable a button" },
  { heading: "Schedule a job", page: "docs/jobs.md", section: "Schedule" },
  { heading: "Override a limit for one key", page: "docs/admin.md", section: "Override a limit for one key" },
  { heading: "Several limits", page: "docs/choosing.md", section: "Ask several limits at once" },
  { heading: "Queues", page: "docs/queue.md", section: undefined },
  { heading: "HTTP", page: "docs/http.md", section: undefined },
  { heading: "Options of limitHttp", page: "docs/http.md", section: "Options" },
  { heading: "Test", page: "docs/testing.md", section: "Test a limit" },
] as const;

/** The contents of both files, by name. */
export async function documents(): Promise<Record<"llms.txt" | "AGENTS.md", string>> {
  const options = await resolveConfig(path.join(root, "AGENTS.md"));
  return { "llms.txt": `${llms()}\n`, "AGENTS.md": await format(agents(), { ...options, parser: "markdown" }) };
}

function llms(): string {
  return [`# ${title("README.md")}`, quote(opening("README.md")), groups()].join("\n\n");
}

function agents(): string {
  const parts = PARTS.map(({ heading, page, section }) => `## ${heading}\n\n${moved(page, sectionOf(page, section))}`);
  return [
    "# convex-rate-limits, for assistants that write code with it",
    "Made by `npm run assistants` from the documents; edit those. To work on the package itself read [CONTRIBUTING](CONTRIBUTING.md).",
    opening("README.md"),
    "Sections after the first six come from pages of their own, each of which defines its own limits.",
    ...parts,
    "The other pages are listed in [llms.txt](llms.txt).",
  ].join("\n\n");
}

/** The list of the documentation's first page, with links from the root of the package. */
function groups(): string {
  const page = read(INDEX);
  return moved(INDEX, page.slice(page.indexOf("## "))).trim();
}

function title(page: string): string {
  return /^# (.+)$/m.exec(read(page))?.[1] ?? page;
}

/** The first paragraph: the page's answer. */
function opening(page: string): string {
  return moved(page, sectionOf(page, undefined).split("\n\n")[0] ?? "");
}

/** A section without its heading, up to the next one; without a name, the text before the first section. */
function sectionOf(page: string, section: string | undefined): string {
  // Comments and pictures are not for assistants.
  const body = read(page)
    .replace(/^# .+\n/, "")
    .replace(/^(<!--.*-->|!\[.*\]\(.*\))\n+/gm, "");
  const sections = body.split(/^(?=## )/m);
  const found = section === undefined ? sections[0] : sections.find((text) => text.startsWith(`## ${section}\n`));
  if (found === undefined) throw new Error(`${page} has no section "${section ?? ""}".`);
  return found.replace(/^## .+\n/, "").trim();
}

/** The text of a page with its links relative to the root of the package. */
function moved(page: string, text: string): string {
  const folder = path.posix.dirname(page);
  return text.replace(/\]\(([^)\s]+)\)/g, (link, target: string) => {
    if (/^[a-z]+:/.test(target)) return link;
    return `](${target.startsWith("#") ? `${page}${target}` : path.posix.join(folder, target)})`;
  });
}

/** The text as one line, without links and without the sentence about the page's blocks. */
function plain(text: string): string {
  const line = text.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1").replace(/\s+/g, " ");
  return line.replace(/ The blocks .*$/, "");
}

function quote(text: string): string {
  return `> ${plain(text)}`;
}
