/** `npm run prove`: checks on your deployment what only a deployment can show. See stage/README.md. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { format } from "oxfmt";
import type { Check, Effort } from "./check.js";
import { contention } from "./contention.js";
import { cost } from "./cost.js";
import { exactness } from "./exactness.js";
import { facts } from "./facts.js";
import { http } from "./http.js";
import { live } from "./live.js";
import { order } from "./order.js";
import { openProver } from "./prover.js";
import { countOf, markdownOf, type Report, type Result, verdictOf } from "./report.js";
import { deploymentIn, openEmbedded } from "./target.js";

const root = path.resolve(import.meta.dirname, "../..");

const HELP = `npm run prove -- [options]
  --embedded     run on the embedded backend, without a deployment; the most important checks are not applicable there
  --short        run each check for a few seconds only
  --class CLASS  the class of the deployment, S16 (default) or S256; it sets the simulator's class and the calls a second
  --out FOLDER   the folder for the report (default: proof)
CONVEX_URL is the deployment, and PROVE_SECRET its secret. Set both in the environment or in .env.local.`;

const { values } = parseArgs({
  options: {
    embedded: { type: "boolean", default: false },
    short: { type: "boolean", default: false },
    class: { type: "string", default: "S16" },
    out: { type: "string", default: "proof" },
    help: { type: "boolean", default: false },
  },
});

function effortOf(platform: "S16" | "S256"): Effort {
  if (values.short) {
    const loads = [{ clients: 4, perSecond: 40 }];
    return { name: "short", cycles: 2, rounds: 5, jobs: 10, zones: 20, loads, loadSeconds: 1, platform };
  }
  const loads = [
    { clients: 1, perSecond: 1 },
    { clients: 16, perSecond: 20 },
    { clients: 64, perSecond: 100 },
    { clients: 64, perSecond: platform === "S16" ? 300 : 1000 },
  ];
  return { name: "full", cycles: 15, rounds: 50, jobs: 60, zones: 400, loads, loadSeconds: 20, platform };
}

async function main(): Promise<void> {
  if (values.help) {
    console.log(HELP);
    return;
  }
  if (values.class !== "S16" && values.class !== "S256") {
    throw new Error(`--class must be S16 or S256, got ${values.class}.`);
  }
  const effort = effortOf(values.class);
  const target = values.embedded ? await openEmbedded() : deploymentIn(process.env, path.join(root, ".env.local"));
  const checks: Check[] = [...facts, ...order, ...exactness, ...live, ...http, ...cost, ...contention(effort)];
  const calls = checks.reduce((sum, check) => sum + check.calls(effort), 0);
  const name = target.isEmbedded ? "embedded" : values.class;
  console.log(`${checks.length} checks on ${target.url}: at most ${calls} function calls, in less than ten minutes.\n`);

  const date = new Date().toISOString();
  const start = performance.now();
  const prover = openProver(target, effort);
  const results: Result[] = [];
  try {
    await prover.begin();
    for (const check of checks) results.push(await judge(check));
  } finally {
    await prover.end();
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

  async function judge(check: Check): Promise<Result> {
    const { subject, name, expected, notEmbedded } = check;
    const shown = { subject, name, expected };
    const result: Result = await check.run(prover).then(
      ({ holds, ...seen }) => ({ check: shown, ...seen, verdict: verdictOf(check, target.isEmbedded, holds) }),
      (error: unknown) => ({ check: shown, seen: String(error), verdict: "failed" }),
    );
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

await main();
process.exit();
