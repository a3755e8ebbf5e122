/** Checks each command of "On a deployment of yours" in stage/README.md with the real CLI's help and the example's functions. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { files, manifest, read, root } from "../tidy/files.js";

const cli = path.join(root, "node_modules/convex/bin/main.js");
const block = /## On a deployment of yours[^]*?```sh\n([^]*?)```/.exec(read("stage/README.md"))?.[1] ?? "";
/** The commands, without the comments that explain them. */
const commands = block.split("\n").flatMap((line) => line.replace(/\s+#.*$/, "") || []);
const ofCli = commands.filter((command) => command.startsWith("npx convex "));

/** The parts of a command that the CLI's help does not have: "--flag", or the command itself. */
async function unknownIn(command: string): Promise<string[]> {
  const words = command.split(" ").slice(2);
  const [name = "", second = ""] = words;
  const called = name === "env" ? [name, second] : [name];
  const { stdout: help } = await promisify(execFile)(process.execPath, [cli, ...called, "--help"]);
  const flags = words.filter((word) => word.startsWith("--"));
  const known =
    help.startsWith(`Usage: convex ${called.join(" ")}`) || help.startsWith(`Usage: convex ${name} remove|rm`);
  return [
    ...(known ? [] : [called.join(" ")]),
    ...flags.filter((flag) => !new RegExp(`^ +(-\\w, )?${flag}\\b`, "m").test(help)),
  ];
}

describe("the way to a deployment", () => {
  it("has ten commands, all of npm, the CLI or the project's scripts", () => {
    expect(commands).toHaveLength(10);
    const scripts = commands.flatMap((command) => /\bnpm (?:run )?(\w+)$/.exec(command)?.[1] ?? []);
    expect(scripts.filter((script) => script !== "ci")).toEqual(["prove", "start"]);
    expect(scripts.filter((script) => script !== "ci" && !Object.hasOwn(manifest.scripts, script))).toEqual([]);
    expect(ofCli.length + scripts.length).toBe(10);
  });

  it.each(ofCli)("%s is in the CLI's help", async (command) => {
    expect(await unknownIn(command)).toEqual([]);
  });

  it("the check finds a flag and a command that the CLI does not have", async () => {
    expect(await unknownIn("npx convex data rateLimits --production")).toEqual(["--production"]);
    expect(await unknownIn("npx convex env put NAME")).toEqual(["env put"]);
  });

  it("calls a function that exists, and shows a table that exists", () => {
    const [module = "", name = ""] = /convex run .*?(\S+:\S+)/.exec(block)?.[1]?.split(":") ?? [];
    expect(files).toContain(`stage/convex/${module}.ts`);
    expect(read(`stage/convex/${module}.ts`)).toContain(`export const ${name} = mutation(`);
    expect(read("src/storage/schema.ts")).toContain(`${/convex data (\w+)/.exec(block)?.[1] ?? "?"}:`);
  });
});
