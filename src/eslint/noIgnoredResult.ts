/** The rule: a decision that nobody reads limits nothing. */
import type { Rule } from "eslint";
import { nameIn, NAMES, SourceReader } from "./limitingCall.js";
import { canBeDenied } from "./resultType.js";

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
/** These are what their parent is. ESTree has no types for `as`, `satisfies` and `!`. */
const SAME = ["AwaitExpression > *", "ChainExpression > *", "[type=/^TS/] > *"];
/** Only who reads the parent reads these. */
const PASSED_ON = [
  ...SAME,
  "SequenceExpression > :last-child",
  "ArrayExpression > *",
  "SpreadElement > *",
  "ArrowFunctionExpression > .body",
  "LogicalExpression > .right",
  "ConditionalExpression > :not(.test)",
  "CallExpression > MemberExpression.callee",
  "MemberExpression[property.name=/^(catch|finally)$/] > .object",
  "CallExpression[callee.property.name=/^(map|flatMap)$/] > ArrowFunctionExpression.arguments:first-child",
  ...["ArrayExpression.arguments", "CallExpression.arguments[callee.property.name=/^(map|flatMap)$/]"].map(
    (list) =>
      `CallExpression[callee.object.name="Promise"][callee.property.name=/^(all|allSettled|race|any)$/] > ${list}`,
  ),
];

export const noIgnoredResult: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: { description: "require the answer of a rate limit to be read, unless a denial is thrown" },
    messages: {
      ignored: "The result of {{name}} is ignored, so nothing is limited. Read its `ok`, or pass `throws: true`.",
      truthy: "The result of {{name}} is an object and never `false`, so nothing is limited. Read its `ok`.",
    },
    schema: [{ type: "object", properties: { throws: { type: "boolean" } }, additionalProperties: false }],
  },
  create(context) {
    const reader = new SourceReader(context.sourceCode);
    const [{ throws: elsewhere = false } = {}] = context.options as [{ throws?: boolean }?];
    const unread = new Set<Rule.Node>();
    const tested = new Set<Rule.Node>();
    return {
      ...marking(unread, UNREAD, PASSED_ON),
      ...marking(tested, TESTED, SAME),
      "CallExpression:exit"(node) {
        const messageId = unread.has(node) ? "ignored" : tested.has(node) ? "truthy" : undefined;
        if (!messageId) return;
        const call = reader.limitingCall(node, elsewhere);
        // The type of a result knows every definition. Without types, the names and constants of this file decide.
        const isDenial = canBeDenied(node, context.sourceCode) ?? (call && !call.throws);
        const name = call?.name ?? nameIn(node.callee);
        if (isDenial && NAMES.test(name)) context.report({ node, messageId, data: { name } });
      },
    };
  },
};

/** Marks what one of `first` selects, and what one of `then` selects below a marked parent. ESLint visits parents first. */
function marking(marked: Set<Rule.Node>, first: readonly string[], then: readonly string[]): Rule.RuleListener {
  return {
    [first.join(", ")](node: Rule.Node) {
      marked.add(node);
    },
    [then.join(", ")](node: Rule.Node) {
      if (node.parent && marked.has(node.parent)) marked.add(node);
    },
  };
}
