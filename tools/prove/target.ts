/** The target of a run: a deployment, or the embedded backend in this process. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { parseEnv } from "node:util";
import { ConvexError } from "convex/values";
import type { App } from "../backend/backend.js";
import { openLoader } from "../backend/loader.js";
import { openServer } from "../backend/server.js";
import { makeTimersPunctual } from "../backend/timers.js";

export interface Target {
  readonly isEmbedded: boolean;
  readonly url: string;
  /** The base URL of the HTTP actions. */
  readonly siteUrl: string;
  readonly secret: string;
  close(): Promise<void>;
}

export async function openEmbedded(secret = randomBytes(16).toString("hex")): Promise<Target> {
  const loader = await openLoader();
  const { default: app } = (await loader.ssrLoadModule(path.join(import.meta.dirname, "app.ts"))) as { default: App };
  makeTimersPunctual();
  const embedded = openServer(app);
  const server = createServer((request, response) => {
    if (!embedded.handle(request, response)) response.writeHead(404).end();
  });
  server.on("upgrade", (request, socket, head) => {
    if (!embedded.upgrade(request, socket, head)) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // The functions run in this process and read the secret from its environment. All targets in the process share it.
  process.env["PROVE_SECRET"] = secret;
  return {
    isEmbedded: true,
    url,
    siteUrl: `${url}/http`,
    secret,
    close: async () => {
      embedded.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await loader.close();
    },
  };
}

/** The deployment that the environment or .env.local names. @throws if something that it needs is missing. */
export function deploymentIn(environment: NodeJS.ProcessEnv, localFile: string): Target {
  const local = existsSync(localFile) ? parseEnv(readFileSync(localFile, "utf8")) : {};
  const read = (...names: string[]) => names.map((name) => environment[name] ?? local[name]).find(Boolean);
  const url = read("CONVEX_URL", "VITE_CONVEX_URL")?.replace(/\/$/, "");
  if (url === undefined) {
    throw new Error(
      "There is no CONVEX_URL in the environment or .env.local: run `npx convex dev --once`, or add --embedded.",
    );
  }
  if (!URL.canParse(url)) throw new Error(`CONVEX_URL must be the address of a deployment, got ${url}.`);
  const secret = read("PROVE_SECRET");
  if (secret === undefined) {
    throw new Error(
      "There is no PROVE_SECRET in the environment or .env.local: choose a text of at least 16 characters, and set it on " +
        "the deployment as well (`npx convex env set PROVE_SECRET your-text`).",
    );
  }
  const siteUrl = read("CONVEX_SITE_URL", "VITE_CONVEX_SITE_URL") ?? url.replace(/\.convex\.cloud$/, ".convex.site");
  return { isEmbedded: false, url, siteUrl, secret, close: () => Promise.resolve() };
}

/** Why no check can run, in a sentence for whoever started the run. @param error - what the first call threw. */
export function explain(error: unknown, url: string): string {
  if (error instanceof ConvexError) return (error.data as { message?: string }).message ?? String(error);
  const text = String(error).split("\n")[0] ?? "";
  if (text.includes("fetch failed")) return `No deployment answers at ${url}: is it running, and is CONVEX_URL right?`;
  return text.includes("Could not find")
    ? `The deployment at ${url} does not have the functions of stage/convex: run \`npx convex dev --once\`.`
    : `The deployment at ${url} refuses the first call: ${text.slice(0, 200)}`;
}
