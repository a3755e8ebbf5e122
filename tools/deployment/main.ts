/**
 * Runs Convex's own CLI in a project without a deployment. The CLI talks to a stand-in on the loopback interface.
 *
 *     tsx tools/deployment/main.ts FOLDER codegen|dev|deploy [arguments of the CLI]
 */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { openDeployment } from "./deployment.js";

/**
 * The options of each command. Only `dev` checks the types: in `codegen` the check would read the files that are about to be written,
 * and in `deploy` it would repeat that of `dev`.
 */
const OPTIONS = {
  codegen: ["--typecheck", "disable"],
  dev: ["--once", "--tail-logs", "disable", "--typecheck", "enable"],
  deploy: ["-y", "--typecheck", "disable"],
};

const [folder, command, ...rest] = process.argv.slice(2);
if (folder === undefined || command === undefined || !(command in OPTIONS))
  throw new Error("usage: tsx tools/deployment/main.ts FOLDER codegen|dev|deploy [arguments of the CLI]");
const project = path.resolve(folder);

const deployment = await openDeployment();
try {
  process.exitCode = await runCli(project, deployment.url, [
    command,
    ...OPTIONS[command as keyof typeof OPTIONS],
    ...rest,
  ]);
} finally {
  deployment.close();
}

/** Runs the CLI and returns its exit code. */
function runCli(cwd: string, url: string, args: readonly string[]): Promise<number> {
  // Of the project's own packages, or of those of a folder above it.
  const convex = createRequire(path.join(cwd, "package.json")).resolve("convex/package.json");
  const cli = path.join(path.dirname(convex), "bin/main.js");
  const child = spawn(process.execPath, [cli, ...args, "--url", url, "--admin-key", "offline|0"], {
    cwd,
    stdio: "inherit",
    env: { ...process.env, CI: "1" },
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => {
      resolve(code ?? 1);
    });
  });
}
