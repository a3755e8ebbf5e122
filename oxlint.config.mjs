// JavaScript and no TypeScript: on Node.js 20, oxlint loads no other config.
import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import { defineConfig } from "oxlint";
import tseslint from "typescript-eslint";

// ESLint's and typescript-eslint's own sets of rules, which oxlint checks in an eighth of the time. It does not have these:
const MISSING = new Set([
  // Errors of syntax, or of the compiler.
  "no-dupe-args",
  "no-new-symbol",
  "no-octal",
  // Deprecated: the set turns it off.
  "no-return-await",
  // Not in oxlint yet.
  "@typescript-eslint/no-unsafe-class-instance-assignment",
  "@typescript-eslint/no-unsafe-enum-assignment",
  // They judge the options of React's compiler, which is not in use.
  "react-hooks/config",
  "react-hooks/gating",
]);

/** The rules of several configs, by oxlint's names. */
const rulesOf = (...configs) =>
  Object.fromEntries(
    configs
      .flatMap(({ rules }) => Object.entries(rules ?? {}))
      .filter(([name]) => !MISSING.has(name))
      .map(([name, level]) => [name.replace("@typescript-eslint/", "typescript/"), level]),
  );

export default defineConfig({
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: "error" },
  ignorePatterns: ["dist/", "coverage/", "**/_generated/", "stage/dist/", "test/package/app/"],
  plugins: ["typescript", "react"],
  categories: { correctness: "off" },
  rules: rulesOf(js.configs.recommended),
  overrides: [
    {
      files: ["**/*.ts", "**/*.tsx"],
      rules: {
        ...rulesOf(...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked),
        // A field is dropped from a copy by naming it.
        "typescript/no-unused-vars": ["error", { ignoreRestSiblings: true }],
        // Messages may contain numbers and booleans without a conversion.
        "typescript/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
        // A file may use `type` for inferred, mapped, union and plain object types alike, because one spelling is easier to read.
        "typescript/consistent-type-definitions": "off",
        // An interface that extends one type gives it a name, which editors, messages and declarations then show.
        "typescript/no-empty-object-type": ["error", { allowInterfaces: "with-single-extends" }],
        "typescript/switch-exhaustiveness-check": "error",
        "typescript/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      },
    },
    // In these tests the exports of pages have the type any. test/tidy compiles the pages with their types.
    {
      files: ["test/docs/*.test.ts", "test/compat/moving.test.ts"],
      rules: Object.fromEntries(
        ["argument", "assignment", "call", "member-access", "return"].map((use) => [
          `typescript/no-unsafe-${use}`,
          "off",
        ]),
      ),
    },
    {
      files: ["src/**/*.ts", "convex/**/*.ts"],
      rules: { "max-lines-per-function": ["error", 60], "max-params": ["error", 4] },
    },
    { files: ["**/*.js", "**/*.mjs"], env: { node: true } },
    { files: ["src/browser/*.ts", "{example,stage}/src/**"], rules: rulesOf(reactHooks.configs.flat.recommended) },
  ],
});
