/** `npm run example`: serves the page of example/ and its functions, without an account. The embedded backend has no sign-in. */
import path from "node:path";
import { defineConfig, mergeConfig } from "vite";
import example from "../../example/vite.config.js";
import { embeddedConvex } from "./vitePlugin.js";

process.env["DEMO_USER"] ??= "demo";

export default mergeConfig(
  example,
  defineConfig({
    root: path.resolve(import.meta.dirname, "../../example"),
    cacheDir: path.resolve(import.meta.dirname, "../../node_modules/.vite/example"),
    plugins: [embeddedConvex("exampleApp.ts")],
    // Resolves the package's own name to its sources, so that no build is needed.
    resolve: { tsconfigPaths: true },
    server: { host: "127.0.0.1", port: Number(process.env["PORT"] ?? 5174) },
  }),
);
