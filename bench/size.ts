/** `npm run size`: what the client's entries weigh: bundled, minified and gzipped, without React and Convex, which a page has anyway. */
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { isProgram } from "./report/commandLine.js";

const root = new URL("..", import.meta.url).pathname;

/** The server's part: until snapshots come from there ready to project, the client makes them so itself. */
const CONVERSION = "src/browser/ready.ts";

const PARTS = {
  useRateLimit: 'export { useRateLimit } from "./src/react/index.ts"',
  "convex-rate-limits/react": 'export * from "./src/react/index.ts"',
  "convex-rate-limits/client": 'export * from "./src/browser/index.ts"',
  project: 'export { project } from "./src/browser/project.ts"',
} as const;

export interface Size {
  name: keyof typeof PARTS;
  minified: number;
  gzipped: number;
  /** Gzipped, with the conversion of snapshots. */
  withConversion: number;
}

export async function measureSizes(): Promise<Size[]> {
  const names = Object.keys(PARTS) as Size["name"][];
  return await Promise.all(
    names.map(async (name) => {
      const [code, whole] = await Promise.all([bundle(PARTS[name], [withoutConversion]), bundle(PARTS[name], [])]);
      return { name, minified: code.length, gzipped: gzipped(code), withConversion: gzipped(whole) };
    }),
  );
}

async function bundle(contents: string, plugins: Plugin[]): Promise<Uint8Array> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: "ts" },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
    external: ["react", "convex/*"],
    plugins,
  });
  const [file] = outputFiles;
  if (!file) throw new Error("esbuild has made nothing.");
  return file.contents;
}

const withoutConversion: Plugin = {
  name: "without conversion",
  setup(building) {
    building.onResolve({ filter: /\/ready\.js$/ }, () => ({ path: CONVERSION, namespace: "server" }));
    building.onLoad({ filter: /.*/, namespace: "server" }, () => ({
      contents: "export const readySnapshot = (snapshot) => snapshot;",
    }));
  },
};

function gzipped(code: Uint8Array): number {
  return gzipSync(code, { level: 9 }).length;
}

if (isProgram(import.meta.url)) {
  console.table(Object.fromEntries((await measureSizes()).map(({ name, ...sizes }) => [name, sizes])));
}
