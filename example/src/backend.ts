/** The way to the backend: a deployment, if the server was told of one, else the embedded one that serves the page. */
import { ConvexReactClient } from "convex/react";

const deployment = document.querySelector<HTMLMetaElement>('meta[name="deployment"]')?.content ?? "";

export const isEmbedded = deployment === "";

export function connect(): ConvexReactClient {
  return new ConvexReactClient(deployment || location.origin, { unsavedChangesWarning: false });
}

/** Where the app's HTTP actions are: Convex gives them an address of their own. */
export const httpUrl = isEmbedded ? `${location.origin}/http` : siteOf(new URL(deployment));

function siteOf(url: URL): string {
  if (url.hostname.endsWith(".convex.cloud")) return url.origin.replace(/\.convex\.cloud$/, ".convex.site");
  // A backend on one's own machine has them on the next port.
  url.port = String(Number(url.port) + 1);
  return url.origin;
}
