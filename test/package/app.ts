/** A fresh app with the tarball installed, in a folder outside the project, as a user has after `npm install`. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { openShell, run, type Run } from "./shell.js";

/** A fresh app: its folder, the versions of its packages that are not the pinned ones, and how its commands run. */
export interface App {
  readonly folder: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly run: Run;
}

/** The strictest settings that an app may have. They also check the types of its dependencies, and that its own declarations can name them. */
const TSCONFIG = {
  compilerOptions: {
    target: "ES2022",
    lib: ["ES2022", "DOM", "DOM.Iterable"],
    module: "ESNext",
    moduleResolution: "Bundler",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    noImplicitOverride: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    verbatimModuleSyntax: true,
    isolatedModules: true,
    allowJs: true,
    skipLibCheck: false,
    declaration: true,
    noEmit: true,
    jsx: "react-jsx",
    types: ["vite/client"],
  },
  include: ["convex"],
};

const VITEST_CONFIG = `import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "edge-runtime",
    // Half of the time of a short run is spent on workers that load the same modules.
    isolate: false,
    testTimeout: 120_000,
    server: { deps: { inline: ["convex-test"] } },
  },
});
`;

/** An app with a page and tests installs these, next to convex and the tarball. */
const TOOLS = [
  ...["@edge-runtime/vm", "convex-test", "jsdom", "typescript", "vite", "vitest"],
  ...["@testing-library/dom", "@testing-library/react", "@types/react", "@types/react-dom"],
];

/**
 * Writes the app of test/package/app into its folder, and installs the tarball and the versions that the project itself pins. The app is
 * typechecked there, with its generated code.
 */
export async function installApp(root: string, app: App, tarball: string): Promise<void> {
  const { folder } = app;
  mkdirSync(folder);
  cpSync(path.join(root, "test/package/app"), folder, { recursive: true });
  cpSync(path.join(root, "test/support/clock.ts"), path.join(folder, "journeys/clock.ts"));
  const { devDependencies } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
    devDependencies: Record<string, string>;
  };
  const versions: Record<string, string | undefined> = {
    ...devDependencies,
    // The project's own `typescript` is version 6, for tools that need its API.
    typescript: devDependencies["typescript-native"],
    ...app.versions,
  };
  const pinned = (names: string[]) => Object.fromEntries(names.map((name) => [name, versions[name]]));
  const manifest = {
    name: "fresh-app",
    private: true,
    type: "module",
    dependencies: {
      ...pinned(["convex", "@convex-dev/rate-limiter", "react", "react-dom"]),
      "convex-rate-limits": `file:${tarball}`,
    },
    devDependencies: pinned(TOOLS),
  };
  write(folder, "package.json", JSON.stringify(manifest));
  write(folder, "tsconfig.json", JSON.stringify(TSCONFIG));
  write(folder, "convex/tsconfig.json", '{ "extends": "../tsconfig.json", "include": ["."] }');
  write(folder, "vitest.config.ts", VITEST_CONFIG);
  await app.run(folder, "npm", "install", "--no-audit", "--no-fund");
}

/** Installs this version of Node.js into a folder, from npm, and returns how commands run with it. */
export async function installNode(folder: string, version: string): Promise<Run> {
  mkdirSync(folder);
  write(folder, "package.json", "{}");
  await run(folder, "npm", "install", "--no-audit", "--no-fund", `node@${version}`);
  const shell = openShell(path.join(folder, "node_modules/node/bin"));
  const installed = (await shell(folder, "node", "--version")).trim();
  if (installed !== `v${version}`) throw new Error(`npm installed Node.js ${installed}, not ${version}`);
  return shell;
}

/** The entries that run without React, ESLint or Vite. */
const IN_NODE =
  " /component /component/queue /jobs /live /queue /queue/schema /admin /schema /http /client /compat /convex.config.js".split(
    " ",
  );

/** Loads the entry points that contain code in plain Node, without a bundler. */
export async function importInNode({ folder, run }: App): Promise<void> {
  const script = `
    for (const entry of ${JSON.stringify(IN_NODE)}) {
      const exported = Object.values(await import("convex-rate-limits" + entry));
      if (exported.length === 0 || exported.includes(undefined)) throw new Error("convex-rate-limits" + entry);
    }`;
  await run(folder, "node", "--input-type=module", "--eval", script);
}

/**
 * Pushes the app with Convex's own CLI to the stand-in for a deployment, which judges the push. The app has the component twice, inside
 * another component, and next to the official one.
 */
export async function push(
  root: string,
  { folder, run }: Pick<App, "folder" | "run">,
  command: "codegen" | "dev" | "deploy",
): Promise<void> {
  await run(root, "node", "--import", "tsx", "tools/deployment/main.ts", folder, command);
}

function write(folder: string, file: string, text: string): void {
  writeFileSync(path.join(folder, file), text);
}
