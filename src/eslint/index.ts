/** convex-rate-limits/eslint: a plugin for ESLint's flat config, with one rule: a decision that nobody reads limits nothing. */
import type { Linter, Rule } from "eslint";
import type { CallExpression, Node } from "estree";
import { SourceReader } from "./limitingCall.js";

/** Nothing reads these expressions. */
const UNREAD = [
  "ExpressionStatement > *",
  "SequenceExpression > :not(:last-child)",
  'UnaryExpression[operator="void"] > *',
  'CallExpression[callee.property.name="forEach"] > ArrowFunctionExpression.arguments:first-child',
  'CallExpression[arguments.0.params.length=0] > MemberExpression.callee[property.name="then"] > .object',
];
/** These are conditions themselves, instead of their `ok`. */
const TESTED = [
  'UnaryExpression[operator="!"] > *',
  'LogicalExpression[operator!="??"] > .left',
  "BinaryExpression[left.raw=/^(true|false)$/] > .right",
  "BinaryExpression[right.raw=/^(true|false)$/] > .left",
  'CallExpression[callee.name="Boolean"] > .arguments',
  ":not(SwitchCase) > .test",
];
/** These are what their parent is, or may be. ESTree has no types for `as`, `satisfies` and `!`. */
const SAME = [
  "AwaitExpression > *",
  "ChainExpression > *",
  "[type=/^TS/] > *",
  "SequenceExpression > :last-child",
  "LogicalExpression > .right",
  "ConditionalExpression > :not(.test)",
];
/** Nothing reads these unless the parent is read. */
const PASSED_ON = [
  "ArrayExpression > *",
  "SpreadElement > *",
  "ArrowFunctionExpression > .body",
  "CallExpression > MemberExpression.callee",
  "MemberExpression[property.name=/^(catch|finally)$/] > .object",
  "CallExpression[callee.property.name=/^(map|flatMap)$/] > ArrowFunctionExpression.arguments:first-child",
  'CallExpression[callee.object.name="Promise"][callee.property.name=/^(all|allSettled|race|any)$/] > .arguments',
];

type Fault = "ignored" | "truthy";

const noIgnoredResult: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: { description: "require the answer of a rate limit to be read, unless a denial is thrown" },
    messages: {
      ignored: "The result of {{name}} is ignored, so nothing is limited. Read its `ok`, or pass `throws: true`.",
      truthy: "The result of {{name}} is an object and never `false`, so nothing is limited. Read its `ok`.",
    } satisfies Record<Fault, string>,
    schema: [{ type: "object", properties: { throws: { type: "boolean" } }, additionalProperties: false }],
  },
  create(context) {
    const reader = new SourceReader(context.sourceCode);
    const [{ throws: elsewhere = false } = {}] = context.options as [{ throws?: boolean }?];
    const faults = new Map<Node, Fault>();
    const calls: CallExpression[] = [];
    // ESLint visits parents first.
    const mark = (faultBelow: (parent?: Fault) => Fault | undefined) => (node: Rule.Node) => {
      const fault = faultBelow(faults.get(node.parent as Node));
      if (fault) faults.set(node, fault);
    };
    return {
      [UNREAD.join(", ")]: mark(() => "ignored"),
      [TESTED.join(", ")]: mark(() => "truthy"),
      [SAME.join(", ")]: mark((parent) => parent),
      [PASSED_ON.join(", ")]: mark((parent) => (parent === "ignored" ? parent : undefined)),
      CallExpression: (node) => calls.push(node),
      "Program:exit"() {
        for (const call of calls) {
          const reads = reader.readsOf(call);
          const messageId = reads[0] && faults.get(reads[0]);
          // Code that also uses a constant in another way may read its `ok`.
          const isFault = messageId && reads.every((read) => faults.get(read) === messageId);
          const name = isFault && reader.deniableCall(call, elsewhere);
          if (name) for (const node of reads) context.report({ node, messageId, data: { name } });
        }
      },
    };
  },
};

/** Named: otherwise the compiler writes out a type of a package that apps do not have. */
interface Preset extends Linter.Config {}
/** The rule as an error, for the files that the config is given. */
const recommended: Preset = {
  name: "convex-rate-limits/recommended",
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
const plugin = {
  meta: { name: "convex-rate-limits" },
  rules: { "no-ignored-result": noIgnoredResult },
  configs: { recommended },
};
// ESLint refuses a name for two objects, so the preset has the one that is exported.
recommended.plugins = { "convex-rate-limits": plugin };
export default plugin;
