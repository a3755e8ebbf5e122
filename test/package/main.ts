/**
 * Packs the package, checks the tarball, installs it into two fresh apps and uses it there: with the pinned convex on this Node.js, and with
 * the newest one on a Node.js that it accepts. CONVEX_VERSION=1.47.0 is instead one app with that version, on this Node.js. It needs the npm
 * registry. Run it with `npm run check:package`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type App, importInNode, installApp, installNode, push } from "./app.js";
import { run } from "./shell.js";
import { faults, pack, publishDry, type Tarball } from "./tarball.js";

/** The newest convex that this package was tested with. Its CLI refuses Node.js 20, which the project itself still runs on. */
const NEWEST = { convex: "1.49.0", node: "22.23.3" };

const root = path.resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(path.join(os.tmpdir(), "convex-rate-limits-"));

try {
  const tarball = await pack(root, folder);
  await Promise.all([check(tarball), ...appsToTry().map(async (app) => tryApp(await app, tarball))]);
  await run(root, "npx", "tsx", "tools/deployment/main.ts", ".", "deploy");
  done("convex deploy: a stand-in that judges like a deployment accepts the example");
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function check(tarball: Tarball): Promise<void> {
  const found = faults(root, tarball);
  if (found.length > 0) throw new Error(found.join("\n"));
  done("the tarball contains the right files");

  await run(root, "npx", "publint", "run", tarball.file, "--strict");
  done("publint finds nothing");
  await run(root, "npx", "attw", tarball.file, "--profile", "esm-only");
  done("attw finds nothing");

  await publishDry(tarball);
  done("npm publish --dry-run accepts it");
}

function appsToTry(): (App | Promise<App>)[] {
  const { CONVEX_VERSION } = process.env;
  const here = { folder: path.join(folder, "app"), convex: CONVEX_VERSION, run };
  return CONVEX_VERSION ? [here] : [here, openNewest()];
}

async function openNewest(): Promise<App> {
  const accepts = Number.parseInt(process.versions.node) >= Number.parseInt(NEWEST.node);
  const shell = accepts ? run : await installNode(path.join(folder, "node"), NEWEST.node);
  return { folder: path.join(folder, "newest"), convex: NEWEST.convex, run: shell };
}

async function tryApp(app: App, { file }: Tarball): Promise<void> {
  await installApp(root, app, file);
  const version = await app.run(app.folder, "node", "--print", "require('convex').version + ' on ' + process.version");
  const tell = (what: string) => {
    done(`convex ${version.trim()}: ${what}`);
  };
  tell("the tarball installs into a fresh app");
  await importInNode(app);
  tell("Node loads it without a bundler");
  await push(root, app, "codegen");
  await app.run(app.folder, "npx", "vitest", "run");
  tell("convex codegen generates the app's code, and the app's tests pass in both places");
  await push(root, app, "dev");
  tell("convex dev: the app typechecks, declaration files included");
  await push(root, app, "deploy");
  tell("convex deploy: a stand-in that judges like a deployment accepts the app");
}

function done(what: string): void {
  console.log(`ok: ${what}`);
}
