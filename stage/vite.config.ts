import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { embeddedConvex } from "../tools/backend/vitePlugin.js";
import { codeModules } from "./site/code.js";
import { deploymentInPage, deploymentOf } from "./site/deployment.js";
import { docsPages } from "./site/docs.js";

const PORT = Number(process.env["PORT"] ?? 5173);
const deployment = deploymentOf(process.env);

export default defineConfig({
  root: import.meta.dirname,
  // An unknown address gives a 404, not the first page.
  appType: "mpa",
  plugins: [
    react(),
    tailwindcss(),
    codeModules(),
    docsPages(),
    deploymentInPage(deployment),
    // With a deployment, no backend is embedded.
    ...(deployment ? [] : [embeddedConvex()]),
  ],
  // Resolves the package's own name to its sources, so that no build is needed.
  resolve: { tsconfigPaths: true },
  // The embedded backend is for this machine only.
  server: { host: "127.0.0.1", port: PORT },
  preview: { host: "127.0.0.1", port: PORT },
  build: {
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      input: { index: "index.html", docs: "docs.html" },
      // The docs take most of the build time. Without this line, the bundler prints long warnings about that.
      checks: { bundlerTimings: false },
    },
  },
});
