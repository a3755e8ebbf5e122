/** The connection to the backend: a deployment if the server has one configured, or else the embedded backend that serves the page. */
import { ConvexReactClient } from "convex/react";

const deployment = document.querySelector<HTMLMetaElement>('meta[name="deployment"]')?.content ?? "";

export const isEmbedded = deployment === "";

/** In the static copy of the page, the backend runs in the page itself. `npm run site` builds that one. */
export const isStatic = import.meta.env.MODE === "static";
const local = isStatic ? await import("../local/client.js") : undefined;

export function connect(): ConvexReactClient {
  return new ConvexReactClient(deployment || location.origin, {
    unsavedChangesWarning: false,
    logger,
    ...(local && { webSocketConstructor: local.LocalSocket as unknown as typeof WebSocket }),
  });
}

/** The tabs cause errors on purpose and show them. In the console they would look like faults of the page. */
const logger = {
  logVerbose: () => undefined,
  log: () => undefined,
  warn: console.warn.bind(console),
  error: (...message: unknown[]) => {
    if (!/^(%c)?\[CONVEX [QMAH]\(/.test(String(message[0]))) console.error(...message);
  },
};

/** The base URL of the app's HTTP actions. Convex gives them their own address. */
export const httpUrl = isEmbedded ? `${location.origin}/http` : siteOf(new URL(deployment));

/** Calls an HTTP action. */
export const fetchHttp: (url: string) => Promise<Response> = local?.localFetch ?? fetch.bind(globalThis);

function siteOf(url: URL): string {
  if (url.hostname.endsWith(".convex.cloud")) return url.origin.replace(/\.convex\.cloud$/, ".convex.site");
  // A backend on the developer's machine has them on the next port.
  url.port = String(Number(url.port) + 1);
  return url.origin;
}
