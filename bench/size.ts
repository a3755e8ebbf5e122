/**
 * `npm run size` measures the client's entries in bytes: bundled and minified, and then gzipped. React and Convex are left out,
 * because a page has them anyway.
 */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { isProgram } from "./report/commandLine.js";

const root = new URL("..", import.meta.url).pathname;

const PARTS = {
  useRateLimit: 'export { useRateLimit } from "./src/browser/react.ts"',
  "convex-rate-limits/react": 'export * from "./src/browser/react.ts"',
  "convex-rate-limits/client": 'export * from "./src/browser/index.ts"',
  projectRateLimit: 'export { projectRateLimit } from "./src/browser/project.ts"',
} as const;

export interface Size {
  name: keyof typeof PARTS;
  minified: number;
  gzipped: number;
}

export async function measureSizes(): Promise<Size[]> {
  const names = Object.keys(PARTS) as Size["name"][];
  return await Promise.all(
    names.map(async (name) => {
      const code = await bundle(PARTS[name]);
      return { name, minified: code.length, gzipped: gzipSync(code, { level: 9 }).length };
    }),
  );
}

async function bundle(contents: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: "ts" },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
    external: ["react", "convex/*"],
  });
  const [file] = outputFiles;
  if (!file) throw new Error("esbuild returned no file.");
  return file.contents;
}

if (isProgram(import.meta.url)) {
  console.table(Object.fromEntries((await measureSizes()).map(({ name, ...sizes }) => [name, sizes])));
}
