/**
 * Packs the package, checks the tarball, installs it into two fresh apps and uses it there as the docs say. One has the
 * pinned convex, the oldest that is supported, on this Node.js. The other has the newest, on a Node.js that it accepts.
 * CONVEX_VERSION=1.48.0 is instead one app with that version, on this Node.js. With CONVEX_VERSION=latest, it also has the
 * latest convex-test. It needs the npm registry. Run it with `npm run check:package`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type App, importInNode, installApp, installNode, push } from "./app.js";
import { writeJourneys } from "./journeys.js";
import { run } from "./shell.js";
import { faults, pack, publishDry, type Tarball } from "./tarball.js";

/** The newest versions that the package was tested with. Convex's CLI refuses Node.js 20, on which the project runs. */
const NEWEST = { convex: "1.49.0", "convex-test": "0.0.71" };
const NODE = "22.23.3";

const root = path.resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(path.join(os.tmpdir(), "convex-rate-limits-"));

try {
  const tarball = await pack(root, folder);
  const tries = await Promise.allSettled([
    check(tarball),
    ...appsToTry().map(async (app) => tryApp(await app, tarball)),
  ]);
  // Only now does nothing use the folder.
  for (const result of tries) if (result.status === "rejected") throw result.reason;
  await push(root, { folder: ".", run }, "deploy");
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
  const versions = {
    ...(CONVEX_VERSION && { convex: CONVEX_VERSION }),
    ...(CONVEX_VERSION === "latest" && { "convex-test": "latest" }),
  };
  const here = { folder: path.join(folder, "app"), versions, run };
  return CONVEX_VERSION ? [here] : [here, openNewest()];
}

async function openNewest(): Promise<App> {
  const accepts = Number.parseInt(process.versions.node) >= Number.parseInt(NODE);
  const shell = accepts ? run : await installNode(path.join(folder, "node"), NODE);
  return { folder: path.join(folder, "newest"), versions: NEWEST, run: shell };
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
  tell("convex codegen generates the app's code");
  for (const journey of writeJourneys(app.folder)) await push(root, { ...app, folder: journey }, "dev");
  tell("convex dev: the apps of the docs typecheck in both places, with their pages, the queue and the moved app");
  await app.run(app.folder, "npx", "vitest", "run");
  tell("the tests of the app and of the docs' apps pass");
  await push(root, app, "dev");
  tell("convex dev: the app typechecks, declaration files included");
  await push(root, app, "deploy");
  tell("convex deploy: a stand-in that judges like a deployment accepts the app");
}

function done(what: string): void {
  console.log(`ok: ${what}`);
}
