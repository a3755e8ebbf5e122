/**
 * `npm run site`: writes the documents as static files to stage/dist/site, for any web server. The page is not among them, because
 * it needs a backend. `BASE` is the folder of the site on the server, like "/convex-rate-limits/".
 */
import path from "node:path";
import tailwindcss from "@tailwindcss/vite";
import { build } from "vite";
import { docsPages } from "./docs.js";

export async function buildSite(outDir: string, base: string): Promise<void> {
  await build({
    configFile: false,
    root: path.resolve(import.meta.dirname, ".."),
    base,
    logLevel: "error",
    plugins: [tailwindcss(), docsPages("README.md")],
    build: { outDir, emptyOutDir: true, rolldownOptions: { input: { docs: "docs.html" } } },
  });
}

if (process.argv[1] === import.meta.filename) {
  await buildSite(
    path.resolve(import.meta.dirname, "../dist/site"),
    `${process.env["BASE"] ?? ""}/`.replace(/\/+$/, "/"),
  );
}
