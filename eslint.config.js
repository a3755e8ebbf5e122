import convex from "@convex-dev/eslint-plugin";
import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import { defineConfig, globalIgnores } from "eslint/config";
import globals from "globals";
import { tsImport } from "tsx/esm/api";
import tseslint from "typescript-eslint";

// The package's own plugin, as its source: lint needs no build.
const { default: rateLimits } = await tsImport("./src/eslint/index.ts", import.meta.url);

export default defineConfig([
  globalIgnores(["dist/", "coverage/", "**/_generated/", "stage/dist/", "test/package/app/"]),
  js.configs.recommended,
  ...convex.configs.recommended,
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // A field is dropped from a copy by naming it.
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
      // Messages may contain numbers and booleans without a conversion.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // A file may use `type` for inferred, mapped, union and plain object types alike, because one spelling is easier to read.
      "@typescript-eslint/consistent-type-definitions": "off",
      // An interface that extends one type gives it a name, which editors, messages and declarations then show.
      "@typescript-eslint/no-empty-object-type": ["error", { allowInterfaces: "with-single-extends" }],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
    },
  },
  // In these tests the exports of pages have the type any. test/tidy compiles the pages with their types.
  {
    files: ["test/docs/*.test.ts", "test/compat/moving.test.ts"],
    rules: Object.fromEntries(
      ["argument", "assignment", "call", "member-access", "return"].map((use) => [
        `@typescript-eslint/no-unsafe-${use}`,
        "off",
      ]),
    ),
  },
  {
    files: ["src/**/*.ts", "convex/**/*.ts"],
    rules: { "max-lines-per-function": ["error", 60], "max-params": ["error", 4] },
  },
  { files: ["**/*.js", "**/*.mjs"], languageOptions: { globals: globals.node } },
  { files: ["{example,stage,tools}/**/*.ts"], ...rateLimits.configs.recommended },
  { files: ["src/browser/*.ts", "{example,stage}/src/**"], extends: [reactHooks.configs.flat.recommended] },
]);
