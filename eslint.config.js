// The rules that need a plugin for ESLint: Convex's, and the package's own. oxlint.config.mjs has all others.
import convex from "@convex-dev/eslint-plugin";
import { defineConfig, globalIgnores } from "eslint/config";
import { tsImport } from "tsx/esm/api";
import tseslint from "typescript-eslint";

// As its source: lint needs no build.
const { default: rateLimits } = await tsImport("./src/eslint/index.ts", import.meta.url);

export default defineConfig([
  globalIgnores(["dist/", "coverage/", "**/_generated/", "stage/dist/", "test/package/app/"]),
  {
    files: ["**/convex/**/*.ts", "{example,stage,tools}/**/*.ts"],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
  },
  ...convex.configs.recommended,
  { files: ["{example,stage,tools}/**/*.ts"], ...rateLimits.configs.recommended },
]);
