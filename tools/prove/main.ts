/** `npm run prove`: checks on your deployment what only a deployment can show. See stage/README.md. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { format } from "oxfmt";
import type { Check } from "./check.js";
import { checksOf, effortOf, plannedSeconds } from "./checks.js";
import { judge } from "./judge.js";
import { openProver } from "./prover.js";
import { countOf, markdownOf, type Report, type Result } from "./report.js";
import { deploymentIn, explain, openEmbedded } from "./target.js";

const root = path.resolve(import.meta.dirname, "../..");

const HELP = `npm run prove -- [options]
  --embedded     run on the embedded backend, without a deployment; the most important checks are not applicable there
  --short        run each check for a few seconds only
  --class CLASS  the class of the deployment, S16 (default) or S256; it sets the simulator's class and the calls a second
  --out FOLDER   the folder for the report (default: proof)
CONVEX_URL is the deployment, and PROVE_SECRET its secret. Set both in the environment or in .env.local.`;

const OPTIONS = {
  embedded: { type: "boolean", default: false },
  short: { type: "boolean", default: false },
  class: { type: "string", default: "S16" },
  out: { type: "string", default: "proof" },
  help: { type: "boolean", default: false },
} as const;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) {
    console.log(HELP);
    return;
  }
  if (values.class !== "S16" && values.class !== "S256") {
    throw new Error(`--class must be S16 or S256, got ${values.class}.`);
  }
  const effort = effortOf(values.short ? "short" : "full", values.class, values.embedded);
  const target = values.embedded ? await openEmbedded() : deploymentIn(process.env, path.join(root, ".env.local"));
  const checks = checksOf(effort);
  const calls = checks.reduce((sum, check) => sum + check.calls(effort), 0);
  const name = target.isEmbedded ? "embedded" : values.class;
  const most = plannedSeconds(checks, effort);

  const date = new Date().toISOString();
  const start = performance.now();
  const prover = openProver(target, effort);
  try {
    await prover.begin();
  } catch (error) {
    throw new Error(explain(error, target.url), { cause: error });
  }
  console.log(`${checks.length} checks on ${target.url}: at most ${calls} function calls, in at most ${most} s.\n`);
  const results: Result[] = [];
  try {
    const beside = checks.filter(({ isBeside }) => isBeside).map(play);
    for (const check of checks.filter(({ isBeside }) => !isBeside)) results.push(await play(check));
    results.push(...(await Promise.all(beside)));
  } finally {
    await prover.end().catch((error: unknown) => {
      console.error(`What the run has written could not be deleted: ${String(error)}`);
      process.exitCode = 1;
    });
    await target.close();
  }
  const seconds = Math.round((performance.now() - start) / 1000);
  const report: Report = { date, target: name, effort: effort.name, versions: versions(), calls, seconds, results };
  const file = path.resolve(root, values.out, `${date.slice(0, 10)}-${name}`);
  mkdirSync(path.dirname(file), { recursive: true });
  await write(`${file}.md`, markdownOf(report));
  await write(`${file}.json`, JSON.stringify(report));
  console.log(`\n${countOf(results)}, in ${seconds} s: ${path.relative(process.cwd(), file)}.md`);
  if (results.some(({ verdict }) => verdict === "failed")) process.exitCode = 1;

  async function play(check: Check): Promise<Result> {
    const { subject, name, expected, notEmbedded } = check;
    const result = await judge(check, prover, target.isEmbedded);
    const reason = result.verdict === "not applicable here" ? ` (${notEmbedded ?? ""})` : "";
    console.log(
      `${subject}: ${name}\n  expected: ${expected}\n  seen:     ${result.seen}\n  ${result.verdict}${reason}`,
    );
    return result;
  }
}

/** Writes a file in the project's format, so that a report can be committed. */
async function write(file: string, text: string): Promise<void> {
  writeFileSync(file, (await format(file, text, { printWidth: 120 })).code);
}

function versions(): string {
  const versionOf = (folder: string) =>
    (JSON.parse(readFileSync(path.join(root, folder, "package.json"), "utf8")) as { version: string }).version;
  const convex = versionOf("node_modules/convex");
  const official = versionOf("node_modules/@convex-dev/rate-limiter");
  return `convex-rate-limits ${versionOf(".")}, convex ${convex}, @convex-dev/rate-limiter ${official}, Node.js ${process.versions.node}`;
}

await main().catch((error: unknown) => {
  console.error((error as Error).message);
  process.exitCode = 1;
});
process.exit();
