import type { KnipConfig } from "knip";

export default {
  // What nobody imports: the entries of package.json, programs, tests and fixtures.
  entry: [
    "src/*.ts",
    "src/{http,compat,eslint,browser}/index.ts",
    "src/{browser,compat}/react.ts",
    "src/storage/{schema,queueSchema}.ts",
    "src/client/{component,queue,admin}.ts",
    "convex/*.ts",
    "example/**/*.{ts,tsx}",
    "bench/*.ts",
    "scripts/{*/main,release/*,mutants/*}.ts",
    "test/**/*.test.{ts,tsx}",
    "test/{*,model/faults}/main.ts",
    // Read as text, planted as a fault, or built as apps of their own.
    "test/{engine/whole,eslint/typedLimits,mutants/planted/*}.ts",
    "test/compat/app/**/*.{ts,tsx}",
    "docs/*.md",
  ],
  // Blocks of the docs are modules of tests (test/docs/pages.ts): the packages that they import are used.
  compilers: {
    md: (text) =>
      [...text.matchAll(/^(?:import|\}) .*from "(?!\.)(.+)";$/gm)].map(([, name]) => `import "${name}";`).join("\n"),
  },
  project: ["**/*.{ts,tsx}", "docs/*.md", "!**/_generated/**", "!dist/**"],
  // The built package, if there is one; an app that imports what is generated for it elsewhere.
  ignoreIssues: { "dist/**": ["unlisted"], "test/package/app/**": ["unresolved"] },
  // Programs that scripts run by name, a style's imports, and what a dependency of ours brings (Workpool's, and ESLint's types).
  ignoreDependencies: [
    "@arethetypeswrong/cli",
    "publint",
    "@stryker-mutator/vitest-runner",
    "@fontsource-variable/.+",
    "tailwindcss",
    "@convex-dev/batch-worker",
    "estree",
    // "docs:start" is a page.
    "docs",
  ],
} satisfies KnipConfig;
