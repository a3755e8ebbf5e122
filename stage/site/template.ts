/** Puts a page into its frame, docs.html: the lists beside the text, the tags for other sites, the way to the next page. */
import { escaped } from "./highlight.js";
import { type DocPage, docFiles, docGroups, projectFiles, titleOf, urlOf } from "./pages.js";

export type Fillable = Pick<DocPage, "title" | "html"> & Partial<Pick<DocPage, "url" | "contents" | "summary">>;

export const NOT_FOUND: Fillable = {
  title: "This page does not exist",
  html:
    "<h1>This page does not exist</h1><p>The address is wrong, or the page has moved. " +
    'Search the docs, or choose from <a href="/docs/README.html">all pages</a>.</p>',
};

export function fillTemplate(template: string, page: Fillable): string {
  const { title, html, url, contents = [] } = page;
  const { summary = `${title}: from the documentation of convex-rate-limits.` } = page;
  const sections = contents.map(({ anchor, heading }) => `<li><a href="#${anchor}">${escaped(heading)}</a></li>`);
  const groups = [...docGroups(), { heading: "Project", files: projectFiles() }].map(
    ({ heading, files }) => (heading && `<h2>${escaped(heading)}</h2>`) + `<ul>${listOf(files, url)}</ul>`,
  );
  return template
    .replaceAll("%TITLE%", escaped(title))
    .replaceAll("%SUMMARY%", () => escaped(summary))
    .replace("%SECTIONS%", () => sections.join(""))
    .replace("%PAGES%", () => groups.join(""))
    .replace("%TURN%", () => turnOf(url))
    .replace("%CONTENT%", () => html);
}

function listOf(files: readonly string[], current: string | undefined): string {
  const items = files.map((file) => linkTo(file, urlOf(file) === current ? ' aria-current="page"' : ""));
  return items.map((link) => `<li>${link}</li>`).join("");
}

/** The links to the previous and the next page of the documentation. */
function turnOf(url: string | undefined): string {
  const files = docFiles();
  const at = files.findIndex((file) => urlOf(file) === url);
  if (at < 0) return "";
  const [previous, next] = [files[at - 1], files[at + 1]];
  const links =
    (previous === undefined ? "<span></span>" : linkTo(previous, ' rel="prev"', "← ")) +
    (next === undefined ? "" : linkTo(next, ' rel="next"', "", " →"));
  return `<nav class="turn" aria-label="Previous and next page">${links}</nav>`;
}

function linkTo(file: string, attributes: string, before = "", after = ""): string {
  return `<a href="${urlOf(file)}"${attributes}>${before}${escaped(titleOf(file))}${after}</a>`;
}
