import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { embeddedConvex } from "./embedded/vitePlugin.js";

const PORT = Number(process.env["PORT"] ?? 5173);

export default defineConfig({
  root: import.meta.dirname,
  plugins: [
    react(),
    tailwindcss(),
    // With a real deployment's address there is nothing to embed.
    ...(process.env["VITE_CONVEX_URL"] ? [] : [embeddedConvex()]),
  ],
  // The package's own name, as its users import it, without a build.
  resolve: { tsconfigPaths: true },
  // The embedded backend is for this machine only.
  server: { host: "127.0.0.1", port: PORT },
  preview: { host: "127.0.0.1", port: PORT },
  build: { chunkSizeWarningLimit: 1000 },
});
