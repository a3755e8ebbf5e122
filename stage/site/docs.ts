/** Serves the documents next to the page in development, and writes them when the page is built. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import type { Plugin } from "vite";
import { type DocPage, docFiles, HIDDEN, projectFiles, renderPage, renderSource, root, urlOf } from "./pages.js";
import { fillTemplate, makeMenu, NOT_FOUND } from "./template.js";

const TEMPLATE = "docs.html";
const MISSING = "/404.html";
/** The page itself, if a document is the first page. */
const PLAYGROUND = "/playground.html";
const TRY_IT = '<a href="/">Try it</a>';

/** @param home - the document that is the first page of a site without the stage */
export function docsPages(home?: string): Plugin {
  let base = "/";
  return {
    name: "docs-pages",
    configResolved(config) {
      base = config.base;
    },
    configureServer(vite) {
      vite.middlewares.use((request, response, next) => {
        const { pathname } = new URL(request.url ?? "/", "http://page");
        const content = pageAt(pathname);
        if (!content) {
          next();
          return;
        }
        if (content.type !== "text/html") {
          response.setHeader("Content-Type", content.type).end(content.body);
          return;
        }
        const template = readFileSync(path.join(root, "stage", TEMPLATE), "utf8");
        vite
          .transformIndexHtml(pathname, fillTemplate(template, content, makeMenu()))
          .then((html) => response.setHeader("Content-Type", "text/html").end(html), next);
      });
    },
    configurePreviewServer(preview) {
      const { root, build } = preview.config;
      const file = (url: string) => path.join(root, build.outDir, url);
      // After the built files, and after the backend. Vite's own answer is empty.
      return () => {
        preview.middlewares.use((request, response, next) => {
          const { pathname } = new URL(request.url ?? "/", "http://page");
          if (statSync(file(pathname), { throwIfNoEntry: false })?.isFile()) next();
          else response.writeHead(404, { "Content-Type": "text/html" }).end(readFileSync(file(MISSING)));
        });
      };
    },
    writeBundle({ dir = "" }) {
      const template = readFileSync(path.join(dir, TEMPLATE), "utf8");
      const menu = makeMenu();
      const write = (url: string, body: string) => {
        const file = path.join(dir, url);
        mkdirSync(path.dirname(file), { recursive: true });
        const moved = home === undefined ? body : body.replace(TRY_IT, TRY_IT.replace('"/"', `"${PLAYGROUND}"`));
        writeFileSync(file, url.endsWith(".html") ? prefixLinks(base, moved) : body);
      };
      const pages = [...docFiles(), ...projectFiles()].map(renderPage);
      for (const page of pages) write(page.url, fillTemplate(template, page, menu));
      const first = pages.find(({ file }) => file === home);
      if (first) {
        write(PLAYGROUND, readFileSync(path.join(dir, "index.html"), "utf8"));
        write("/index.html", fillTemplate(template, first, menu));
      }
      write(MISSING, fillTemplate(template, NOT_FOUND, menu));
      write(SEARCH, searchJson(pages));
      const linked = new Set(["", ...pages.flatMap((page) => page.linked)].flatMap(withContents));
      for (const file of linked) {
        const url = urlOf(file);
        if (url.startsWith("/source/")) write(url, fillTemplate(template, renderSource(file), menu));
        else if (!url.endsWith(".html")) {
          mkdirSync(path.dirname(path.join(dir, url)), { recursive: true });
          copyFileSync(path.join(root, file), path.join(dir, url));
        }
      }
      rmSync(path.join(dir, TEMPLATE));
    },
  };
}

/** Prefixes links from the root with the folder of the site on the server. The bundler has already changed its own links. */
function prefixLinks(base: string, html: string): string {
  if (base === "/") return html;
  return html.replace(/<[a-z][^>]*>/g, (tag) =>
    tag.replace(/\b(href|src|srcset)="\/([^"]*)"/g, (link, name: string, rest: string) =>
      `/${rest}`.startsWith(base) ? link : `${name}="${base}${rest}"`,
    ),
  );
}

const SEARCH = "/search.json";

/** Pages for people who change the package, and a list of all changes: they would hide what a user looks for. */
const UNSEARCHED = ["AGENTS.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"];

function searchJson(pages: readonly DocPage[]): string {
  const searched = pages.filter(({ file }) => !UNSEARCHED.includes(file));
  return JSON.stringify(searched.flatMap(({ sections }) => sections));
}

interface Content {
  type: string;
  title: string;
  html: string;
  url: string;
  body: Buffer | string;
  contents?: DocPage["contents"];
  summary?: string;
}

/** The content of an address, made at each request. For development. */
function pageAt(url: string): Content | undefined {
  const page = { type: "text/html", url, body: "" };
  const files = [...docFiles(), ...projectFiles()];
  if (url === SEARCH)
    return { ...page, type: "application/json", title: "", html: "", body: searchJson(files.map(renderPage)) };
  const file = files.find((file) => urlOf(file) === url);
  if (file) return { ...page, ...renderPage(file) };
  const [, source] = /^\/source\/(.+)\.html$/.exec(url) ?? [];
  const target = source === "index" ? "" : source;
  if (target !== undefined && isWithin(target)) return { ...page, ...renderSource(target) };
  if (/^\/docs\/.*\.(png|svg)$/.test(url) && isWithin(url.slice(1))) {
    const type = url.endsWith("svg") ? "image/svg+xml" : "image/png";
    return { ...page, type, title: "", html: "", body: readFileSync(path.join(root, url)) };
  }
  return undefined;
}

function isWithin(file: string): boolean {
  const parts = file.split("/");
  return !parts.includes("..") && !parts.some((part) => HIDDEN.test(part)) && existsSync(path.join(root, file));
}

/** A file, or a folder and all that is in it. */
function withContents(file: string): string[] {
  const absolute = path.join(root, file);
  // A broken link must not stop the build. The tests find it.
  if (!existsSync(absolute)) return [];
  if (!statSync(absolute).isDirectory()) return [file];
  const inside = readdirSync(absolute).filter((name) => !HIDDEN.test(name));
  return [file, ...inside.flatMap((name) => withContents(path.posix.join(file, name)))];
}
