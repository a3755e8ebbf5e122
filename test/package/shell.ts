/** Commands, as a person would type them in the given folder. */
import { spawnSync } from "node:child_process";

/** Runs a command and returns what it printed. @throws with all of its output when it fails. */
export function run(folder: string, command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} exited with ${status}\n${stdout}\n${stderr}`);
  return stdout;
}
