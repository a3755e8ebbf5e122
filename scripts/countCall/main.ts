/**
 * Lists the code that one plain `rateLimit` in the app's tables executes: files of src/ and their named functions. All modules are
 * already loaded. The bucket has a row and the call is allowed, as in most calls of an app.
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
// Counting starts before the modules are loaded, because V8 does not count functions that it has already optimized.
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

const { defineRateLimits } = await import("../../src/index.js");
const { rateLimitTables } = await import("../../src/storage/schema.js");
const { rateLimit } = defineRateLimits({ send: { kind: "token bucket", rate: 10, period: 60_000 } });
const t = convexTest(defineSchema({ ...rateLimitTables }), { "./_generated/api.js": () => Promise.resolve({}) });

// The first call creates the row.
await t.mutation((ctx) => rateLimit(ctx, { name: "send" }));
const { ok, calls } = await t.mutation(async (ctx) => {
  // Each report resets the counts.
  await session.post("Profiler.takePreciseCoverage");
  const status = await rateLimit(ctx, { name: "send" });
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return { ok: status.ok, calls: result };
});
session.disconnect();
if (!ok) throw new Error("The counted call was denied. It must be allowed.");

const root = path.resolve(import.meta.dirname, "../..");
const executed = executedIn(calls, (url) => sourceFile(url));
if (process.argv.includes("--json")) console.log(JSON.stringify({ files: executed }));
else print(executed);

/** The path of a file of src/, relative to the root; undefined for every other script. */
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
