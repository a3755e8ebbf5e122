/** convex-rate-limits/eslint: a plugin for ESLint's flat config, with one rule. */
import type { Linter, Rule } from "eslint";
import { noIgnoredResult } from "./noIgnoredResult.js";

const rules: Record<"no-ignored-result", Rule.RuleModule> = { "no-ignored-result": noIgnoredResult };
const plugin = { meta: { name: "convex-rate-limits" }, rules };

/** The rule as an error, for the files that the config is given. */
const recommended: Linter.Config = {
  name: "convex-rate-limits/recommended",
  plugins: { "convex-rate-limits": plugin },
  rules: { "convex-rate-limits/no-ignored-result": "error" },
};

/**
 * The plugin, and its preset.
 *
 * @example
 * ```text
 * import rateLimits from "convex-rate-limits/eslint";
 *
 * export default [{ files: ["convex/**"], ...rateLimits.configs.recommended }];
 * ```
 */
const withConfigs = { ...plugin, configs: { recommended } };
export default withConfigs;
