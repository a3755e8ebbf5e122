/**
 * `npm start`: serves the built page and its backend, and prints what you can do with them. It builds the page first if one of its
 * sources is newer. To work on the page, use `npm run dev`.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { build, preview } from "vite";
import { deploymentOf } from "./site/deployment.js";
import { HIDDEN, projectFiles, root } from "./site/pages.js";

const configFile = path.join(import.meta.dirname, "vite.config.ts");
const built = path.join(import.meta.dirname, "dist/index.html");
/** The files and folders that the page is made of. */
const SOURCES = ["stage", "tools", "src", "convex", "docs", "package.json", ...projectFiles()];
const deployment = deploymentOf(process.env);

if (!existsSync(built) || SOURCES.some((source) => newest(path.join(root, source)) > statSync(built).mtimeMs)) {
  console.log("Building the page …");
  await build({ configFile, logLevel: "warn" });
}
const server = await preview({ configFile });
const { port } = server.config.preview;
const url = server.resolvedUrls?.local[0]?.replace(/\/$/, "") ?? `http://127.0.0.1:${port}`;

console.log(`
  The page            ${url}/
  The docs            ${url}/docs/start.html
`);
if (deployment) {
  const from = process.env["VITE_CONVEX_URL"] ? "VITE_CONVEX_URL" : ".env.local";
  console.log(`  The backend         ${deployment}, of ${from}: a Convex deployment
  Without it          VITE_CONVEX_URL= npm start, on the embedded backend\n`);
} else {
  console.log(`  The HTTP API        curl -i '${url}/http/api/stage?room=curl'      six times: the last one is a 429
  The functions       npx convex run stage/burst:send '{"room":"cli","reserve":false}' --url ${url} --admin-key any

  The backend is embedded: for development, in memory. It forgets everything when it stops.
  To use a deployment of your own instead: npx convex dev, which writes .env.local, then npm start
`);
}

/** The time of the last change of a file, or of any file in a folder. */
function newest(file: string): number {
  const { mtimeMs } = statSync(file);
  if (!statSync(file).isDirectory()) return mtimeMs;
  const inside = readdirSync(file).filter((name) => !HIDDEN.test(name));
  return Math.max(0, ...inside.map((name) => newest(path.join(file, name))));
}
