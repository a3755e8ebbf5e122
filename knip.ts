import type { KnipConfig } from "knip";

export default {
  // Files that no other file imports: the entries of package.json, programs, tests and fixtures.
  entry: [
    "src/*.ts",
    "src/{http,compat,eslint,browser}/index.ts",
    "src/{browser,compat}/react.ts",
    "src/storage/{schema,queueSchema}.ts",
    "src/client/{component,componentQueue,queue,admin}.ts",
    "convex/*.ts",
    "example/{vite.config.ts,convex/*.ts,src/main.tsx}",
    "stage/**/*.{ts,tsx}",
    "bench/*.ts",
    "tools/*/main.ts",
    "tools/{backend,prove}/app.ts",
    "tools/backend/example{App,.config}.ts",
    "tools/prove/predict.ts",
    "tools/**/*.test.ts",
    "scripts/{*/main,release/*,mutants/*}.ts",
    "test/**/*.test.{ts,tsx}",
    "test/*/main.ts",
    // Files that are read as text, planted as faults, or built as separate apps.
    "test/{engine/whole,eslint/typedLimits,mutants/planted/*}.ts",
    "test/compat/app/**/*.{ts,tsx}",
    "test/compat/official/{adapter,vitest.config}.ts",
    "docs/*.md",
  ],
  // Tests run the blocks of the docs as modules (test/docs/pages.ts), so the packages that the blocks import are used.
  compilers: {
    md: (text) =>
      [...text.matchAll(/^(?:import|\}) .*from "(?!\.)(.+)";$/gm)].map(([, name]) => `import "${name}";`).join("\n"),
  },
  project: ["**/*.{ts,tsx,css,svelte,vue}", "docs/*.md", "!**/_generated/**", "!dist/**"],
  // The compiler names them in an app's declarations.
  ignoreExportsUsedInFile: { interface: true, type: true },
  // The built package, if there is one, and an app that imports files that are generated elsewhere.
  ignoreIssues: { "dist/**": ["unlisted"], "test/package/app/**": ["unresolved"] },
  // Programs that scripts run by name, and what a dependency of ours installs (Workpool's, ESLint's types).
  ignoreDependencies: [
    "@arethetypeswrong/cli",
    "publint",
    "@stryker-mutator/vitest-runner",
    "@convex-dev/batch-worker",
    "estree",
    // The module "docs:start" is a page of the docs.
    "docs",
    // A library that an app in the docs has already.
    "@convex-dev/auth",
  ],
} satisfies KnipConfig;
