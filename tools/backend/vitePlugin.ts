/** A plugin with which Vite serves the page and the backend on one port: in development, and for the built page (vite preview). */
import type { IncomingMessage, Server } from "node:http";
import path from "node:path";
import type { Duplex } from "node:stream";
import type { Connect, Plugin, ViteDevServer } from "vite";
import type { App } from "./backend.js";
import { openLoader } from "./loader.js";
import { type EmbeddedServer, openServer } from "./server.js";
import { makeTimersPunctual } from "./timers.js";

/** @param app - the module in this folder whose default export is the app: that of stage/, or that of example/. */
export function embeddedConvex(app = "app.ts"): Plugin {
  // An absolute path, because Vite's root is the page's folder or that of the loader.
  const file = path.join(import.meta.dirname, app);
  let embedded: EmbeddedServer | undefined;
  return {
    name: "embedded-convex",
    async configureServer(vite) {
      embedded = await openOn(vite, vite, file);
    },
    async configurePreviewServer(preview) {
      // The built page has no module loader.
      await openOn(preview, await openLoader(), file);
    },
    hotUpdate() {
      embedded?.invalidate();
    },
  };
}

async function openOn(
  listener: { httpServer: ViteDevServer["httpServer"] | Server; middlewares: Connect.Server },
  loader: ViteDevServer,
  file: string,
): Promise<EmbeddedServer> {
  makeTimersPunctual();
  const embedded = openServer(await loadApp(loader, file));
  listener.middlewares.use((request, response, next) => {
    if (!embedded.handle(request, response)) next();
  });
  listener.httpServer?.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Vite has its own WebSocket on the same port, and answers upgrades that are not for the backend.
    embedded.upgrade(request, socket, head);
  });
  listener.httpServer?.once("close", () => {
    embedded.close();
    if (loader !== listener) void loader.close();
  });
  return embedded;
}

/** Loads the app. Its modules are looked up again at each call: Vite caches them until a file changes. */
async function loadApp(vite: ViteDevServer, file: string): Promise<App> {
  const load = async () => ((await vite.ssrLoadModule(file)) as { default: App }).default;
  const app = await load();
  const reloading = (modulesOf: (app: App) => App["modules"]) =>
    Object.fromEntries(
      Object.keys(modulesOf(app)).map((path) => [path, async () => await modulesOf(await load())[path]?.()]),
    );
  const components = Object.entries(app.components ?? {}).map(([name, { schema }]) => [
    name,
    { schema, modules: reloading((current) => current.components?.[name]?.modules ?? {}) },
  ]);
  return {
    schema: app.schema,
    modules: reloading(({ modules }) => modules),
    components: Object.fromEntries(components) as NonNullable<App["components"]>,
  };
}
