/** Vite, used only as a loader of modules: it opens no port and watches no files. */
import { createServer, type ViteDevServer } from "vite";

export function openLoader(): Promise<ViteDevServer> {
  return createServer({
    root: import.meta.dirname,
    configFile: false,
    resolve: { tsconfigPaths: true },
    server: { middlewareMode: true, ws: false, watch: null },
    appType: "custom",
    optimizeDeps: { noDiscovery: true },
    logLevel: "error",
  });
}
