/** The rule: a decision that nobody reads limits nothing. */
import type { Rule } from "eslint";
import type { Node } from "estree";
import { createReader } from "./limitingCall.js";
import { canBeDenied } from "./resultType.js";
import { throwsAlready } from "./throws.js";

export const noIgnoredResult: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: { description: "require the result of a rate limit to be used, unless a denial is thrown" },
    messages: {
      ignored: "The result of {{name}} is ignored, so nothing is limited. Read its `ok`, or pass `throws: true`.",
    },
    schema: [{ type: "object", properties: { throws: { type: "boolean" } }, additionalProperties: false }],
  },
  create(context) {
    const reader = createReader(context.sourceCode);
    const [{ throws: elsewhere = false } = {}] = context.options as [{ throws?: boolean }?];
    return {
      CallExpression(node) {
        const call = isIgnored(node) ? reader.limitingCall(node) : undefined;
        if (!call) return;
        // A type knows every definition; without one, what this file says.
        if (!(canBeDenied(node, context.sourceCode) ?? !throwsAlready(call, reader, elsewhere))) return;
        context.report({ node, messageId: "ignored", data: { name: call.name } });
      },
    };
  },
};

/** Whether nothing reads the value of an expression. */
function isIgnored(node: Rule.Node): boolean {
  const { parent } = node;
  if (parent?.type === "ExpressionStatement") return true;
  if (parent?.type === "SequenceExpression" && parent.expressions.at(-1) !== node) return true;
  return parent !== null && passesOn(parent, node) && isIgnored(parent);
}

/** Whether the value of `node` becomes that of `parent`, read by nothing in between. */
function passesOn(parent: Rule.Node, node: Rule.Node): boolean {
  if (parent.type === "UnaryExpression") return parent.operator === "void";
  if (parent.type === "LogicalExpression") return parent.right === node;
  if (parent.type === "ConditionalExpression") return parent.test !== node;
  // `.then(…)` is given the result, these are not.
  if (parent.type === "MemberExpression") return parent.object === node && isMethod(parent, ["catch", "finally"]);
  if (parent.type === "CallExpression") {
    if (parent.callee === node) return node.type === "MemberExpression";
    return node.type === "ArrayExpression" && isMethod(parent.callee, ["all", "allSettled", "race", "any"], "Promise");
  }
  // `as`, `satisfies` and `!`, for which ESTree has no types.
  if (parent.type.startsWith("TS")) return true;
  return ["AwaitExpression", "ChainExpression", "SequenceExpression", "ArrayExpression"].includes(parent.type);
}

function isMethod(node: Node, methods: readonly string[], of?: string): boolean {
  if (node.type !== "MemberExpression" || node.property.type !== "Identifier") return false;
  const isOf = of === undefined || (node.object.type === "Identifier" && node.object.name === of);
  return isOf && methods.includes(node.property.name);
}
