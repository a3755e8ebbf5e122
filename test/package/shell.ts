/** Runs commands in a folder, as a person would type them. */
import { spawnSync } from "node:child_process";

/** Runs a command and returns its standard output. @throws with all of its output if it fails. */
export function run(folder: string, command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} exited with ${status}\n${stdout}\n${stderr}`);
  return stdout;
}
