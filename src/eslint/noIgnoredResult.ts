/** The rule: a decision that nobody reads limits nothing. */
import type { Rule } from "eslint";
import type { CallExpression, Node } from "estree";
import { keyOf, NAMES, SourceReader } from "./limitingCall.js";
import { canBeDenied } from "./resultType.js";

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
    return {
      CallExpression(node) {
        const messageId = isIgnored(node) ? "ignored" : isTested(node) ? "truthy" : undefined;
        if (!messageId) return;
        const call = reader.limitingCall(node);
        // The type of a result knows every definition. Without types, the names and constants of this file decide.
        const isDenial = canBeDenied(node, context.sourceCode) ?? (call && !reader.throwsDenial(call, elsewhere));
        const name = call?.name ?? nameIn(node);
        if (isDenial && NAMES.has(name)) context.report({ node, messageId, data: { name: String(name) } });
      },
    };
  },
};

/** The name by which a call calls. */
function nameIn({ callee }: CallExpression): string | undefined {
  return callee.type === "MemberExpression" ? keyOf(callee.property, callee.computed) : keyOf(callee);
}

/** Whether nothing reads the value of an expression. */
function isIgnored(node: Rule.Node): boolean {
  const { parent } = node;
  if (parent?.type === "ExpressionStatement") return true;
  if (parent?.type === "SequenceExpression" && parent.expressions.at(-1) !== node) return true;
  if (parent?.type === "UnaryExpression" && parent.operator === "void") return true;
  if (parent?.type === "CallExpression" && isCallback(node, parent, ["forEach"])) return true;
  if (parent?.type === "MemberExpression" && parent.object === node && isMethod(parent, ["then"])) {
    const [callback] = parent.parent.type === "CallExpression" ? parent.parent.arguments : [];
    if (callback && "params" in callback) return callback.params.length === 0;
  }
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
  if (parent.type === "BinaryExpression") return [parent.left, parent.right].some(isBoolean);
  if (parent.type === "CallExpression") return parent.callee.type === "Identifier" && parent.callee.name === "Boolean";
  return "test" in parent && parent.test === node && parent.type !== "SwitchCase";
}

function isBoolean(node: Node): boolean {
  return node.type === "Literal" && typeof node.value === "boolean";
}

/** Whether the value of `node` becomes the value of `parent`, and nothing in between reads it. */
function passesOn(parent: Rule.Node, node: Rule.Node): boolean {
  if (parent.type === "ArrowFunctionExpression") return parent.body === node;
  if (parent.type === "LogicalExpression") return parent.right === node;
  if (parent.type === "ConditionalExpression") return parent.test !== node;
  if (parent.type === "MemberExpression") return parent.object === node && isMethod(parent, ["catch", "finally"]);
  if (parent.type === "CallExpression") {
    if (parent.callee === node) return node.type === "MemberExpression";
    if (isCallback(node, parent, MAPPING)) return true;
    return isList(node) && isMethod(parent.callee, ["all", "allSettled", "race", "any"], "Promise");
  }
  // ESTree has no types for `as`, `satisfies` and `!`.
  return parent.type.startsWith("TS") || PASSING.includes(parent.type);
}

const PASSING = ["AwaitExpression", "ChainExpression", "SequenceExpression", "ArrayExpression", "SpreadElement"];
const MAPPING = ["map", "flatMap"];

/** Whether one of these methods calls a function for each element of an array. */
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
