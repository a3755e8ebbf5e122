/**
 * `npm run site`: writes the documents as static files to stage/dist/site, for any web server, and as playground.html the page with
 * its backend in a worker. `BASE` is the folder of the site on the server, like "/convex-rate-limits/".
 */
import path from "node:path";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { build } from "vite";
import { codeModules } from "./code.js";
import { docsPages } from "./docs.js";

export async function buildSite(outDir: string, base: string): Promise<void> {
  await build({
    configFile: false,
    root: path.resolve(import.meta.dirname, ".."),
    base,
    logLevel: "error",
    mode: "static",
    plugins: [react(), tailwindcss(), codeModules(), docsPages("README.md")],
    // The worker's modules are those of the embedded backend.
    resolve: {
      tsconfigPaths: true,
      alias: { "node:async_hooks": path.resolve(import.meta.dirname, "../local/asyncHooks.ts") },
    },
    worker: { format: "es" },
    build: {
      outDir,
      emptyOutDir: true,
      target: "es2022",
      chunkSizeWarningLimit: 1000,
      rolldownOptions: { input: { index: "index.html", docs: "docs.html" }, checks: { bundlerTimings: false } },
    },
  });
}

if (process.argv[1] === import.meta.filename) {
  await buildSite(
    path.resolve(process.argv[2] ?? path.join(import.meta.dirname, "../dist/site")),
    `${process.env["BASE"] ?? ""}/`.replace(/\/+$/, "/"),
  );
}
