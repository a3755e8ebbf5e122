/**
 * Packs the package, checks the tarball, installs it into a fresh app and uses it there. It needs the npm registry. Run it with
 * `npm run check:package`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { importInNode, installApp, push } from "./app.js";
import { run } from "./shell.js";
import { faults, pack, publishDry } from "./tarball.js";

const root = path.resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(path.join(os.tmpdir(), "convex-rate-limits-"));

try {
  const tarball = pack(root, folder);
  const found = faults(root, tarball);
  if (found.length > 0) throw new Error(found.join("\n"));
  done("the tarball contains the right files");

  run(root, "npx", "publint", "run", tarball.file, "--strict");
  done("publint finds nothing");
  run(root, "npx", "attw", tarball.file, "--profile", "esm-only");
  done("attw finds nothing");

  publishDry(tarball);
  done("npm publish --dry-run accepts it");

  const app = path.join(folder, "app");
  installApp(root, app, tarball.file);
  done("the tarball installs into a fresh app");
  importInNode(app);
  done("Node loads it without a bundler");
  push(root, app, "codegen");
  run(app, "npx", "vitest", "run");
  done("convex codegen generates the app's code, and the app's tests pass in both places");
  push(root, app, "dev");
  done("convex dev: the app typechecks, declaration files included");
  push(root, app, "deploy");
  run(root, "npx", "tsx", "tools/deployment/main.ts", ".", "deploy");
  done("convex deploy: a stand-in that judges like a deployment accepts the app and the example");
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function done(what: string): void {
  console.log(`ok: ${what}`);
}
