/** convex-rate-limits/eslint: a plugin for ESLint's flat config, with one rule: unread answers limit nothing. */
import type { Linter, Rule } from "eslint";
import type { Node, ObjectPattern } from "estree";
import { argumentIn, type LimitCall, limitCallIn, nameIn } from "./limitCall.js";

/** Nothing reads these expressions, or waits for them. */
const FLOATING = [
  ":matches(ExpressionStatement, UnaryExpression[operator=void]) > *",
  "CallExpression[callee.property.name=forEach] > ArrowFunctionExpression.arguments",
].join();
/** Something waits for these, but nothing reads them. */
const UNREAD = "CallExpression[arguments.0.params.length=0] > MemberExpression.callee[property.name=then] > .object";
/** These are conditions themselves, instead of their `ok`. */
const TESTED = [
  "UnaryExpression[operator='!'] > *",
  "LogicalExpression[operator!='??'] > .left",
  ":not(SwitchCase) > .test",
].join();
/** These are what their parent is, or may be. ESTree has no types for `as`, `satisfies` and `!`. */
const SAME = "[type=/^(Chain|Conditional|Logical)Expression$|^TS/] > :not(.test, .left)";
/** Nothing reads these unless the parent is read, which ESLint visits first. */
const PASSED_ON = [
  ":matches(ArrayExpression, SpreadElement) > *, ArrowFunctionExpression > .body",
  "CallExpression > MemberExpression.callee, MemberExpression[property.name=/^(catch|finally)$/] > .object",
  "CallExpression[callee.property.name=/^(map|flatMap)$/] > ArrowFunctionExpression.arguments",
  "CallExpression[callee.object.name=Promise] > .arguments",
].join();

const noIgnoredResult: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: { description: "require the answer of a rate limit to be read, unless a denial is thrown" },
    messages: {
      ignored: "The result of {{name}} is ignored, so nothing is limited. Read its `ok`, or pass `throws: true`.",
      apart: "The `ok` of {{name}} is not read, so nothing is limited. Read it, or pass `throws: true`.",
      truthy: "The result of {{name}} is an object and never `false`, so nothing is limited. Read its `ok`.",
      floating: "{{name}} is not awaited, so its denial stops nothing, also with `throws: true`. Await it.",
      beside: "{{name}} reads each row of a limit with `shards`, so it conflicts with all calls. Ask it in a query.",
    },
    schema: [{ type: "object", properties: { throws: { type: "boolean" } }, additionalProperties: false }],
  },
  create(context) {
    const [{ throws = false } = {}] = context.options as [{ throws?: boolean }?];
    const faults = new Map<Node, string | undefined>();
    const calls: LimitCall[] = [];
    const mark = (faultBelow: (parent?: string) => string | undefined) => (node: Rule.Node) =>
      void faults.set(node, faultBelow(faults.get(node.parent as Node)));
    return {
      [FLOATING]: mark(() => "floating"),
      [UNREAD]: mark(() => "ignored"),
      "AwaitExpression > .argument": mark((parent) => (parent === "floating" ? "ignored" : parent)),
      "VariableDeclarator[id.type=ObjectPattern] > .init"({ parent }: Rule.Node) {
        const { id, init } = parent as { id: ObjectPattern; init: Node };
        if (!id.properties.some((one) => one.type === "RestElement" || nameIn(one.key) === "ok"))
          faults.set(init, "apart");
      },
      [TESTED]: mark(() => "truthy"),
      [SAME]: mark((parent) => parent),
      [PASSED_ON]: mark((parent) => (/^(ignored|floating)$/.test(parent ?? "") ? parent : undefined)),
      CallExpression: (node) => calls.push(...limitCallIn(context.sourceCode, node)),
      "Program:exit"() {
        for (const call of calls) {
          const { node, name } = call;
          const fault = name === "getRateLimit" ? isBeside(call, calls) && "beside" : faults.get(node);
          // After a denial a job's other fields are undefined too, and the code may look at that.
          if (!fault || (fault === "apart" && /^(schedule|enqueue)/.test(name))) continue;
          const isFault =
            fault === "floating" ? call.typeOf?.("ok") !== "" : fault === "beside" || mayDeny(call, throws);
          if (isFault) context.report({ node, messageId: fault, data: { name } });
        }
      },
    };
  },
};

/**
 * Whether a call may answer with a denial; `{ jitter }` throws, too. @param elsewhere - whether limits throw by
 * default.
 */
function mayDeny({ node, typeOf }: LimitCall, elsewhere: boolean): boolean {
  if (typeOf) return !["", "true"].includes(typeOf("ok"));
  const throws = argumentIn(node, "throws");
  return throws ? throws.type !== "ObjectExpression" && nameIn(throws) !== "true" : !elsewhere;
}

/** Whether a call of the same limit, which has several rows, is in the same function. */
function isBeside(read: LimitCall, calls: readonly LimitCall[]): boolean {
  const limitOf = ({ node }: LimitCall) => nameIn(argumentIn(node, "name") ?? node) || node;
  return calls.some((call) => {
    if (call.name !== "rateLimit" || call.scope !== read.scope || limitOf(call) !== limitOf(read)) return false;
    // Only the answer of several rows may lack what remains, and that of a config in the call.
    return call.typeOf?.("remaining").includes("undefined") && !argumentIn(call.node, "config");
  });
}

/** Named: otherwise the compiler writes out a type of a package that apps do not have. */
interface Preset extends Linter.Config {}
const [name, rule] = ["convex-rate-limits", "no-ignored-result"] as const;
/** The rule as an error, for some files: `[{ files: ["convex/**"], ...rateLimits.configs.recommended }]`. */
const recommended: Preset = { name: `${name}/recommended`, rules: { [`${name}/${rule}`]: "error" } };
const plugin = { meta: { name }, rules: { [rule]: noIgnoredResult }, configs: { recommended } };
// ESLint refuses a name for two objects, so the preset has the one that is exported.
recommended.plugins = { [name]: plugin };
export default plugin;
