/** The way to the backend: a deployment, if one was given when the page was built, else the embedded one that serves the page. */
import { ConvexReactClient } from "convex/react";

const deployment = import.meta.env["VITE_CONVEX_URL"] as string | undefined;

export const isEmbedded = !deployment;

/** Each client has a connection of its own, as another window would. */
export function connect(): ConvexReactClient {
  return new ConvexReactClient(deployment ?? location.origin, { unsavedChangesWarning: false });
}
