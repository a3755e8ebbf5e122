/**
 * Runs Convex's own `convex codegen` in a project, without a deployment: the CLI talks to a stand-in on the loopback interface.
 *
 *     tsx scripts/codegen/main.ts FOLDER [arguments of convex codegen]
 */
import { spawn } from "node:child_process";
import path from "node:path";
import { openDeployment } from "./deployment.js";

const [folder, ...rest] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: tsx scripts/codegen/main.ts FOLDER [arguments of convex codegen]");
const project = path.resolve(folder);

const deployment = await openDeployment();
try {
  process.exitCode = await runCli(project, deployment.url, rest);
} finally {
  deployment.close();
}

/** The exit code of `convex codegen`. The typecheck is off: it would read the files that the CLI is about to write. */
function runCli(cwd: string, url: string, args: readonly string[]): Promise<number> {
  const cli = path.join(cwd, "node_modules/convex/bin/main.js");
  const options = ["--url", url, "--admin-key", "offline|0", "--typecheck", "disable"];
  const child = spawn(process.execPath, [cli, "codegen", ...options, ...args], {
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
