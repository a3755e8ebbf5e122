/** The rule: a decision that nobody reads limits nothing. */
import type { Rule } from "eslint";
import type { CallExpression, Node } from "estree";
import { createReader } from "./limitingCall.js";
import { canBeDenied } from "./resultType.js";
import { throwsAlready } from "./throws.js";

export const noIgnoredResult: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: { description: "require the answer of a rate limit to be read, unless a denial is thrown" },
    messages: {
      ignored: "The result of {{name}} is ignored, so nothing is limited. Read its `ok`, or pass `throws: true`.",
      truthy: "The result of {{name}} is an object, which is always true, so nothing is limited. Read its `ok`.",
    },
    schema: [{ type: "object", properties: { throws: { type: "boolean" } }, additionalProperties: false }],
  },
  create(context) {
    const reader = createReader(context.sourceCode);
    const [{ throws: elsewhere = false } = {}] = context.options as [{ throws?: boolean }?];
    return {
      CallExpression(node) {
        const messageId = isIgnored(node) ? "ignored" : isTested(node) ? "truthy" : undefined;
        const call = messageId && reader.limitingCall(node);
        if (!call) return;
        // A type knows every definition; without one, what this file says.
        if (!(canBeDenied(node, context.sourceCode) ?? !throwsAlready(call, reader, elsewhere))) return;
        context.report({ node, messageId, data: { name: call.name } });
      },
    };
  },
};

/** Whether nothing reads the value of an expression. */
function isIgnored(node: Rule.Node): boolean {
  const { parent } = node;
  if (parent?.type === "ExpressionStatement") return true;
  if (parent?.type === "SequenceExpression" && parent.expressions.at(-1) !== node) return true;
  if (parent?.type === "UnaryExpression" && parent.operator === "void") return true;
  if (parent?.type === "CallExpression" && isCallback(node, parent, ["forEach"])) return true;
  return parent !== null && passesOn(parent, node) && isIgnored(parent);
}

/** Whether an expression itself is the condition, and not its `ok`. */
function isTested(node: Rule.Node): boolean {
  const { parent } = node;
  if (parent === null) return false;
  if (["AwaitExpression", "ChainExpression"].includes(parent.type) || parent.type.startsWith("TS")) {
    return isTested(parent);
  }
  if (parent.type === "UnaryExpression") return parent.operator === "!";
  if (parent.type === "LogicalExpression") return parent.left === node && parent.operator !== "??";
  return "test" in parent && parent.test === node && parent.type !== "SwitchCase";
}

/** Whether the value of `node` becomes that of `parent`, read by nothing in between. */
function passesOn(parent: Rule.Node, node: Rule.Node): boolean {
  if (parent.type === "ArrowFunctionExpression") return parent.body === node;
  if (parent.type === "LogicalExpression") return parent.right === node;
  if (parent.type === "ConditionalExpression") return parent.test !== node;
  // `.then(…)` is given the result, these are not.
  if (parent.type === "MemberExpression") return parent.object === node && isMethod(parent, ["catch", "finally"]);
  if (parent.type === "CallExpression") {
    if (parent.callee === node) return node.type === "MemberExpression";
    if (isCallback(node, parent, MAPPING)) return true;
    return isList(node) && isMethod(parent.callee, ["all", "allSettled", "race", "any"], "Promise");
  }
  // `as`, `satisfies` and `!`, for which ESTree has no types.
  if (parent.type.startsWith("TS")) return true;
  return PASSING.includes(parent.type);
}

const PASSING = ["AwaitExpression", "ChainExpression", "SequenceExpression", "ArrayExpression", "SpreadElement"];
const MAPPING = ["map", "flatMap"];

/** Whether a function is called for each element of an array, by one of these methods. */
function isCallback(node: Node, call: CallExpression, methods: readonly string[]): boolean {
  return node.type === "ArrowFunctionExpression" && call.arguments[0] === node && isMethod(call.callee, methods);
}

function isList(node: Node): boolean {
  return node.type === "ArrayExpression" || (node.type === "CallExpression" && isMethod(node.callee, MAPPING));
}

function isMethod(node: Node, methods: readonly string[], of?: string): boolean {
  if (node.type !== "MemberExpression" || node.property.type !== "Identifier") return false;
  const isOf = of === undefined || (node.object.type === "Identifier" && node.object.name === of);
  return isOf && methods.includes(node.property.name);
}
