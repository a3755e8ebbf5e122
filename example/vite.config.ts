import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { embeddedConvex } from "./embedded/vitePlugin.js";
import { codeModules } from "./site/code.js";
import { deploymentInPage, deploymentOf } from "./site/deployment.js";
import { docsPages } from "./site/docs.js";

const PORT = Number(process.env["PORT"] ?? 5173);
const deployment = deploymentOf(process.env);

export default defineConfig({
  root: import.meta.dirname,
  // An address that does not exist is a 404, and not the first page.
  appType: "mpa",
  plugins: [
    react(),
    tailwindcss(),
    codeModules(),
    docsPages(),
    deploymentInPage(deployment),
    // With a real deployment there is nothing to embed.
    ...(deployment ? [] : [embeddedConvex()]),
  ],
  // The package's own name, as its users import it, without a build.
  resolve: { tsconfigPaths: true },
  // The embedded backend is for this machine only.
  server: { host: "127.0.0.1", port: PORT },
  preview: { host: "127.0.0.1", port: PORT },
  build: {
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      input: { index: "index.html", docs: "docs.html" },
      // Making the docs takes most of the build, which says so at length.
      checks: { pluginTimings: false },
    },
  },
});
