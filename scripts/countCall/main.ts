/**
 * Counts what one plain `rateLimit` in the app's tables executes: files of src/ and their named functions, after all modules
 * have been loaded. The bucket has a row and the call is allowed, which is what most calls of an app are.
 *
 *     npm run count:call              prints the list
 *     npm run count:call -- --json    prints { files: { "src/…": ["function", …] } }
 */
import { Session } from "node:inspector/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { defineSchema } from "convex/server";
import { convexTest } from "convex-test";
import { executedIn, type Executed } from "./executed.js";

const session = new Session();
session.connect();
await session.post("Profiler.enable");
// Before the modules are loaded: functions that V8 has optimized by then are not counted.
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

const { defineRateLimits } = await import("../../src/index.js");
const { rateLimitTables } = await import("../../src/storage/schema.js");
const { rateLimit } = defineRateLimits({ send: { kind: "token bucket", rate: 10, period: 60_000 } });
const t = convexTest(defineSchema({ ...rateLimitTables }), { "./_generated/api.js": () => Promise.resolve({}) });

// The first call creates the row.
await t.mutation((ctx) => rateLimit(ctx, { name: "send" }));
const { ok, calls } = await t.mutation(async (ctx) => {
  // Each report starts the counts anew.
  await session.post("Profiler.takePreciseCoverage");
  const status = await rateLimit(ctx, { name: "send" });
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return { ok: status.ok, calls: result };
});
session.disconnect();
if (!ok) throw new Error("the call that was counted has been denied");

const root = path.resolve(import.meta.dirname, "../..");
const executed = executedIn(calls, (url) => sourceFile(url));
if (process.argv.includes("--json")) console.log(JSON.stringify({ files: executed }));
else print(executed);

/** The path below the root of a file of src/; undefined for every other script. */
function sourceFile(url: string): string | undefined {
  if (!url.startsWith("file:")) return undefined;
  const file = path
    .relative(root, fileURLToPath(url.replace(/\?.*$/, "")))
    .split(path.sep)
    .join("/");
  return file.startsWith("src/") ? file : undefined;
}

function print(files: Executed): void {
  for (const [file, functions] of Object.entries(files)) console.log(`${file}: ${functions.join(", ")}`);
  const count = Object.values(files).flat().length;
  console.log(`\n${Object.keys(files).length} files, ${count} named functions`);
}
