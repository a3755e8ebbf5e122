/** The parts of their command lines that the benches share. */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** Whether the module is the program that was started. */
export function isProgram(moduleUrl: string): boolean {
  return process.argv[1] !== undefined && pathToFileURL(process.argv[1]).href === moduleUrl;
}

export function parseNumbers(text: string): number[] {
  return text.split(",").map((part) => {
    const number = Number(part);
    if (!Number.isFinite(number) || number <= 0) throw new Error(`"${part}" is not a number above 0.`);
    return number;
  });
}

export function parseChoices<Choice extends string>(text: string, choices: readonly Choice[]): Choice[] {
  return text.split(",").map((part) => {
    const choice = choices.find((known) => known === part);
    if (choice === undefined) throw new Error(`"${part}" is not one of ${choices.join(", ")}.`);
    return choice;
  });
}

/** The versions that were compared. Every report names them, because figures without versions mean nothing. */
export function versions(): Record<string, string> {
  const of = (path: string) => {
    const text = readFileSync(new URL(`../../${path}package.json`, import.meta.url), "utf8");
    return (JSON.parse(text) as { version: string }).version;
  };
  return {
    "convex-rate-limits": of(""),
    "@convex-dev/rate-limiter": of("node_modules/@convex-dev/rate-limiter/"),
    convex: of("node_modules/convex/"),
    node: process.versions.node,
  };
}

export function versionLine(names?: readonly string[]): string {
  return Object.entries(versions())
    .filter(([name]) => names === undefined || names.includes(name))
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
}
