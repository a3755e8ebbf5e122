/**
 * The files for the assistants of this package's users: llms.txt lists the pages, and llms-full.txt has what an assistant needs that
 * writes code with the package. Both are made from the documents, so that nothing is written twice. test/tidy checks that they match.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { unpadded } from "../release/links.js";

const root = path.resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");

/** The page that lists all pages. */
const INDEX = "docs/README.md";

/** The text of a page before its first section. */
const OPENING = "";

/** The parts of llms-full.txt: a heading, a page, and its sections. */
const PARTS: readonly (readonly [heading: string, page: string, ...sections: string[]])[] = [
  [
    "Functions",
    "docs/functions.md",
    OPENING,
    "Define limits",
    "Limit",
    "Schedule work",
    "Queue work",
    "Show a limit",
    "Limit HTTP actions",
    "Administer",
    "Validate, migrate, test",
  ],
  ["Fields of a limit", "docs/choosing.md", "Look up a field"],
  ["Options of limitHttp", "docs/http.md", "Look up an option"],
  ["Keys of limitHttp", "docs/http-keys.md", "Choose the key"],
  ["Pitfalls", "docs/pitfalls.md", OPENING, "Throw denials"],
  [
    "Start",
    "docs/start.md",
    "Install",
    "Choose the key",
    "Limit a mutation",
    "Read the answer",
    "Keys",
    "Where limits live",
  ],
  ["Limit an action", "docs/functions.md", "Limit an action"],
  ["Choose a kind", "docs/choosing.md", OPENING, "Choose the numbers"],
  ["Ask several limits at once", "docs/choosing.md", "Ask several limits at once"],
  ["Show a limit", "docs/react.md", "Expose a limit", "Disable a button", "Show what was used"],
  ["Sell plans", "docs/plans.md", OPENING, "Sell a quota"],
  ["Schedule jobs", "docs/jobs.md", OPENING, "Schedule", "Cancel", "Settle"],
  [
    "Queue jobs",
    "docs/queue.md",
    OPENING,
    "Set up a queue",
    "Enqueue a job",
    "Show a place",
    "Cancel a job",
    "Do more with a job",
    "Look up an option",
  ],
  ["Take from several limits for one job", "docs/queue.md", "Take from several limits"],
  ["Retry after a provider's 429", "docs/llm.md", "Settle", "Retry"],
  ["Limit how many run at once", "docs/llm.md", "Let each user run three jobs at once"],
  ["Limit an HTTP action", "docs/http.md", OPENING, "Use limits in your tables", "Know what counts"],
  ["Refund an HTTP request", "docs/http-recipes.md", "Give tokens back"],
  ["Find a caller's plan", "docs/http-keys.md", "Find a caller's plan"],
  ["Block or raise one key", "docs/plans.md", "Override a limit for one key"],
  ["Sweep full rows", "docs/operations.md", "Sweep full rows"],
  ["Try before you enforce", "docs/operations.md", "Try a limit in shadow"],
  ["Recipes", "docs/recipes.md", "Limit anonymous callers", "Count failed logins", "Alert at 80 %"],
  ["Test", "docs/testing.md", "Test a limit", "Test limits in the component"],
];

/** The contents of both files, by name. */
export function documents(): Record<"llms.txt" | "llms-full.txt", string> {
  return { "llms.txt": `${llms()}\n`, "llms-full.txt": `${full()}\n` };
}

function llms(): string {
  const more = "[llms-full.txt](llms-full.txt) has all functions, the pitfalls, and code for each task, in one file.";
  return [`# ${title("README.md")}`, quote(opening("README.md")), more, groups()].join("\n\n");
}

function full(): string {
  const parts = PARTS.map(([heading, page, ...sections]) => `## ${heading}\n\n${short(partOf(page, sections))}`);
  return [
    "# convex-rate-limits, for assistants that write code with it",
    plain(opening("README.md")),
    "A block that begins with a path, such as `// convex/limits.ts`, is that file. Each part below has an app of its own.",
    ...parts,
    "llms.txt lists the pages that these parts come from.",
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
  return moved(page, partOf(page, [OPENING]).split("\n\n")[0] ?? "");
}

/** Sections of a page, each up to the next heading of any level. A single section is without its heading; others go down a level. */
function partOf(page: string, sections: readonly string[]): string {
  // Comments and pictures are not for assistants.
  const body = read(page)
    .replace(/^# .+\n/, "")
    .replace(/^(<!--.*-->|!\[.*\]\(.*\))\n+/gm, "");
  const texts = body.split(/^(?=##+ )/m);
  const chosen = sections.map((section) => {
    const found = section === OPENING ? texts[0] : texts.find((text) => /^##+ (.+)/.exec(text)?.[1] === section);
    if (found === undefined) throw new Error(`${page} has no section "${section}".`);
    return found.trim();
  });
  if (chosen.length === 1)
    return chosen
      .join("")
      .replace(/^##+ .+\n/, "")
      .trim();
  return chosen.join("\n\n").replace(/^##+ /gm, "### ");
}

/** The text of a page with its links relative to the root of the package. */
function moved(page: string, text: string): string {
  const folder = path.posix.dirname(page);
  return text.replace(/\]\(([^)\s]+)\)/g, (link, target: string) => {
    if (/^[a-z]+:/.test(target)) return link;
    return `](${target.startsWith("#") ? `${page}${target}` : path.posix.join(folder, target)})`;
  });
}

/** The text without links, and with tables that are not padded: this file is read as a whole, and each byte costs. */
function short(text: string): string {
  return unpadded(text.replace(/\[((?:`[^`]*`|[^\]`])+)\]\([^)\s]+\)/g, "$1"));
}

/** The text as one line, without links and without the sentence about the page's blocks. */
function plain(text: string): string {
  const line = text.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1").replace(/\s+/g, " ");
  return line.replace(/ The blocks .*$/, "");
}

function quote(text: string): string {
  return `> ${plain(text)}`;
}
