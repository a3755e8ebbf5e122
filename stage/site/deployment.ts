/**
 * Tells the page which deployment to use: the one in `VITE_CONVEX_URL`, or else the one in `.env.local`, which `npx convex dev` writes.
 * If neither names one, the page uses the server that it comes from. The address is read when the page is served, so a built page can
 * be pointed at another deployment.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import type { Plugin } from "vite";
import { root } from "./pages.js";

const NONE = '<meta name="deployment" content="" />';

const LOCAL = path.join(root, ".env.local");

/** @param env - an empty `VITE_CONVEX_URL` selects the embedded backend, even if the file names a deployment. */
export function deploymentOf(env: NodeJS.ProcessEnv, file = LOCAL): string | undefined {
  const local = existsSync(file) ? parseEnv(readFileSync(file, "utf8")) : {};
  const url = env["VITE_CONVEX_URL"] ?? local["VITE_CONVEX_URL"] ?? local["CONVEX_URL"];
  if (!url) return undefined;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new Error(
      `VITE_CONVEX_URL must be the address of a deployment, like https://happy-animal-123.convex.cloud, got ${url}.`,
    );
  }
  return url.replace(/\/$/, "");
}

export function deploymentInPage(url: string | undefined): Plugin {
  const insertDeployment = (html: string) =>
    url ? html.replace(NONE, `<meta name="deployment" content="${url}" />`) : html;
  return {
    name: "deployment-in-page",
    transformIndexHtml: { order: "post", handler: (html, { server }) => (server ? insertDeployment(html) : html) },
    configurePreviewServer(preview) {
      preview.middlewares.use((request, response, next) => {
        if (!/^\/(index\.html)?(\?|$)/.test(request.url ?? "")) {
          next();
          return;
        }
        const { root, build } = preview.config;
        const html = readFileSync(path.resolve(root, build.outDir, "index.html"), "utf8");
        response
          .setHeader("Content-Type", "text/html; charset=utf-8")
          .setHeader("Cache-Control", "no-cache")
          .end(insertDeployment(html));
      });
    },
  };
}
