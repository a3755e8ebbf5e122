/** Runs commands in a folder, as a person would type them. */
import { spawn } from "node:child_process";
import path from "node:path";

/** Runs a command and returns its standard output. @throws with all of its output if it fails. */
export type Run = (folder: string, command: string, ...args: string[]) => Promise<string>;

/** @param bin - a folder of programs that come before all others, for instance of another Node.js. */
export function openShell(bin?: string): Run {
  const env = bin ? { ...process.env, PATH: `${bin}${path.delimiter}${process.env["PATH"]}` } : process.env;
  return (folder, command, ...args) =>
    new Promise((resolve, reject) => {
      const child = spawn(command, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
      let [stdout, stderr] = ["", ""];
      child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
      child.on("error", reject);
      child.on("close", (status) => {
        if (status === 0) resolve(stdout);
        else reject(new Error(`${command} ${args.join(" ")} exited with ${status}\n${stdout}\n${stderr}`));
      });
    });
}

export const run: Run = openShell();
