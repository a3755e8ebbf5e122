/** The modules that are measured. Each is bundled as one script that assigns its function to `globalThis.fn`. */
import * as esbuild from "esbuild";

const root = new URL("../..", import.meta.url).pathname;

/** The settings of the bundler: `minified` minifies everything, `cli` is what Convex's CLI sets. */
const SETTINGS = {
  minified: { minify: true },
  cli: { minifySyntax: true, minifyIdentifiers: true, keepNames: true, target: "esnext" },
} as const satisfies Record<string, esbuild.BuildOptions>;
export type Profile = keyof typeof SETTINGS;
export const PROFILES = Object.keys(SETTINGS) as Profile[];

const HEAD = `import { mutationGeneric } from "convex/server"; import { v } from "convex/values";`;
const mutation = (handler: string) =>
  `globalThis.fn = mutationGeneric({ args: { a: v.string() }, handler: async (ctx) => ${handler} });`;

const KINDS = ["token bucket", "fixed window", "sliding window"];

/** The source of `count` limits, whose kinds take turns. The first is a token bucket. */
function limits(count: number, kinds = KINDS): string {
  const each = Array.from(
    { length: count },
    (_, index) => `a${index}: { kind: "${kinds[index % kinds.length]}", rate: ${10 + index}, period: 60000 }`,
  );
  return `{ ${each.join(", ")} }`;
}

const COMPONENT = "{ public: {}, sweep: {}, queue: {} }";

function tables(count: number): string {
  return `${HEAD} import { defineRateLimits } from "./src/index.ts";
    const { rateLimit } = defineRateLimits(${limits(count)}); ${mutation('await rateLimit(ctx, { name: "a0" })')}`;
}

function component(count: number): string {
  return `${HEAD} import { defineRateLimits } from "./src/client/component.ts";
    const { rateLimit } = defineRateLimits(${limits(count)}, { component: ${COMPONENT} });
    ${mutation('await rateLimit(ctx, { name: "a0" })')}`;
}

const QUEUE = `${HEAD} import { defineRateLimits } from "./src/client/component.ts";
  import { rateLimitQueue } from "./src/client/componentQueue.ts";
  const limits = defineRateLimits({ a0: { kind: "token bucket", rate: 10, period: 60000, queue: {} } }, { component: ${COMPONENT} });
  const { cancelQueued } = rateLimitQueue(limits); ${mutation('await cancelQueued(ctx, { name: "a0", id: "job" })')}`;

/** An HTTP action whose limit is in a place. */
function http(entry: string, { options = "{}", via = "undefined" }): string {
  return `import { httpActionGeneric, makeFunctionReference } from "convex/server";
    import { defineRateLimits } from "${entry}"; import { limitHttp } from "./src/http/index.ts";
    const limits = defineRateLimits(${limits(1)}, ${options});
    const settings = { limit: "a0", by: "everyone", via: ${via} };
    globalThis.fn = httpActionGeneric(limitHttp(limits, settings, async () => new Response("served")));`;
}

function official(count: number): string {
  return `${HEAD} import { RateLimiter } from "@convex-dev/rate-limiter";
    const limiter = new RateLimiter({ lib: {} }, ${limits(count, KINDS.slice(0, 2))});
    ${mutation('await limiter.limit(ctx, "a0")')}`;
}

function helpers(count: number): string {
  return `${HEAD} import { defineRateLimits } from "convex-helpers/server/rateLimit";
    const { rateLimit } = defineRateLimits(${limits(count, KINDS.slice(0, 2))});
    ${mutation('await rateLimit(ctx, { name: "a0" })')}`;
}

const OFFICIAL_INSIDE = "./node_modules/@convex-dev/rate-limiter/dist/component/lib.js";

const SOURCES = {
  empty: `${HEAD} ${mutation("null")}`,
  tables: tables(1),
  "tables, 10 limits": tables(10),
  "tables, 50 limits": tables(50),
  "tables, 200 limits": tables(200),
  "tables: http": http("./src/index.ts", { via: 'makeFunctionReference("limits:ask")' }),
  component: component(1),
  "component, 10 limits": component(10),
  "component, 50 limits": component(50),
  "component, 200 limits": component(200),
  "component: queue": QUEUE,
  "component: http": http("./src/client/component.ts", { options: `{ component: ${COMPONENT} }` }),
  "inside: public": `import * as all from "./convex/public.ts"; globalThis.all = all; globalThis.fn = all.consume;`,
  "inside: queue": `import * as all from "./convex/queue.ts"; globalThis.all = all; globalThis.fn = all.cancel;`,
  "inside: queue worker": `import * as all from "./convex/worker.ts"; globalThis.all = all; globalThis.fn = all.workQueue;`,
  official: official(1),
  "official, 200 limits": official(200),
  "official, inside": `import * as all from "${OFFICIAL_INSIDE}"; globalThis.all = all; globalThis.fn = all.rateLimit;`,
  "convex-helpers": helpers(1),
  "convex-helpers, 200 limits": helpers(200),
} as const;
export type Case = keyof typeof SOURCES;
export const CASES = Object.keys(SOURCES).filter((name) => name !== "empty") as Case[];

/** Bundles a case as one script. Without `external` the script contains convex. */
export async function build(name: Case, profile: Profile, external: string[] = []): Promise<string> {
  const { outputFiles } = await bundle(name, profile, external);
  const [file] = outputFiles;
  if (!file) throw new Error("esbuild returned no file.");
  return file.text;
}

/** The modules of this package of which a case's bundle contains code. */
export async function modulesIn(name: Case): Promise<string[]> {
  const { metafile } = await bundle(name, "minified", ["convex/*"]);
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? file : []));
}

function bundle(name: Case, profile: Profile, external: string[]) {
  return esbuild.build({
    stdin: { contents: SOURCES[name], resolveDir: root, loader: "ts" },
    absWorkingDir: root,
    bundle: true,
    format: external.length > 0 ? "esm" : "iife",
    platform: "browser",
    conditions: ["convex", "module"],
    define: { "process.env.NODE_ENV": '"production"' },
    write: false,
    metafile: true,
    logLevel: "silent",
    external,
    ...SETTINGS[profile],
  });
}
