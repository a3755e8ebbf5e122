/** Vite as a loader of modules only: it serves nothing, and listens to nothing. */
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
