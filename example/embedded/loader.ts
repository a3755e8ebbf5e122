/** Vite, used only as a loader of modules: it opens no port and watches no files. */
import path from "node:path";
import { createServer, type ViteDevServer } from "vite";

export const example = path.resolve(import.meta.dirname, "..");

export function openLoader(): Promise<ViteDevServer> {
  return createServer({
    root: example,
    configFile: false,
    resolve: { tsconfigPaths: true },
    server: { middlewareMode: true, ws: false, watch: null },
    appType: "custom",
    optimizeDeps: { noDiscovery: true },
    logLevel: "error",
  });
}
