/** Puts a page into its frame, docs.html: the lists beside the text, the tags for other sites, the way to the next page. */
import { escaped } from "./highlight.js";
import { type DocPage, docGroups, projectFiles, titleOf, urlOf } from "./pages.js";

export type Fillable = Pick<DocPage, "title" | "html"> & Partial<Pick<DocPage, "url" | "contents" | "summary">>;

export const NOT_FOUND: Fillable = {
  title: "This page does not exist",
  html:
    "<h1>This page does not exist</h1><p>The address is wrong, or the page has moved. " +
    'Search the docs, or choose from <a href="/docs/README.html">all pages</a>.</p>',
};

interface MenuGroup {
  heading: string;
  links: { url: string; title: string }[];
}

/** All pages. It reads each of them, so a build makes one menu for all pages. */
export function makeMenu(): MenuGroup[] {
  return [...docGroups(), { heading: PROJECT, files: projectFiles() }].map(({ heading, files }) => ({
    heading,
    links: files.map((file) => ({ url: urlOf(file), title: titleOf(file) })),
  }));
}

const PROJECT = "Project";

export function fillTemplate(template: string, page: Fillable, menu: readonly MenuGroup[]): string {
  const { title, html, url, contents = [] } = page;
  const { summary = `${title}: from the documentation of convex-rate-limits.` } = page;
  const sections = contents.map(({ anchor, heading }) => `<li><a href="#${anchor}">${escaped(heading)}</a></li>`);
  const groups = menu.map(({ heading, links }) => {
    const items = links.map((link) => `<li>${linkTo(link, link.url === url ? ' aria-current="page"' : "")}</li>`);
    return (heading && `<h2>${escaped(heading)}</h2>`) + `<ul>${items.join("")}</ul>`;
  });
  return template
    .replaceAll("%TITLE%", escaped(title))
    .replaceAll("%SUMMARY%", () => escaped(summary))
    .replace("%SECTIONS%", () => sections.join(""))
    .replace("%PAGES%", () => groups.join(""))
    .replace("%TURN%", () => turnOf(url, menu))
    .replace("%CONTENT%", () => html);
}

/** The links to the previous and the next page of the documentation. */
function turnOf(url: string | undefined, menu: readonly MenuGroup[]): string {
  const guides = menu.filter(({ heading }) => heading !== PROJECT).flatMap(({ links }) => links);
  const at = guides.findIndex((guide) => guide.url === url);
  if (at < 0) return "";
  const [previous, next] = [guides[at - 1], guides[at + 1]];
  const links =
    (previous === undefined ? "<span></span>" : linkTo(previous, ' rel="prev"', "← ")) +
    (next === undefined ? "" : linkTo(next, ' rel="next"', "", " →"));
  return `<nav class="turn" aria-label="Previous and next page">${links}</nav>`;
}

function linkTo({ url, title }: MenuGroup["links"][number], attributes: string, before = "", after = ""): string {
  return `<a href="${url}"${attributes}>${before}${escaped(title)}${after}</a>`;
}
