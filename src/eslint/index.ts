/** convex-rate-limits/eslint: a plugin for ESLint's flat config, with one rule: unread answers limit nothing. */
import type { Linter, Rule, SourceCode } from "eslint";
import type { CallExpression, Node, VariableDeclarator } from "estree";
import type { Program, Type } from "typescript";

/** The answers of these must be read. All calls must be awaited. */
const DECISIONS = /^((rateLimit|checkRateLimit)(All)?|(schedule|enqueue)RateLimited)$/;
const REST = /^((adjust|get|override|pause|release|reset)RateLimit|clearRateLimitOverride|cancel(Queued|RateLimited))$/;
/** This package, and modules of the app: relative, or by the usual aliases. */
const SOURCE = /^(convex-rate-limits($|\/)|\.|\/|~|#|@\/)/;

/** Nothing reads these expressions, or waits for them. */
const FLOATING = ":matches(ExpressionStatement, [operator=void]) > *, [callee.property.name=forEach] > .arguments";
/** These are conditions themselves, instead of their `ok`. */
const TESTED = "UnaryExpression[operator='!'] > *, LogicalExpression[operator!='??'] > .left, :not(SwitchCase) > .test";
/** These are what their parent is, or may be. ESTree has no types for `as`, `satisfies` and `!`. */
const SAME = "[type=/^(Chain|Conditional|Logical)Expression$|^TS/] > :not(.test, .left)";
/** Nothing reads these unless the parent is read, which ESLint visits first. */
const PASSED_ON = [
  "ArrayExpression > *, SpreadElement > *, ArrowFunctionExpression > .body, [callee.object.name=Promise] > .arguments",
  "MemberExpression.callee, [property.name=/^(catch|finally)$/] > .object, [callee.property.name=/map$/i] > .arguments",
].join();

const noIgnoredResult: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: { description: "require the answer of a rate limit to be read, unless a denial is thrown" },
    messages: {
      ignored: "The result of {{name}} is ignored, so nothing is limited. Read its `ok`, or pass `throws: true`.",
      apart: "The `ok` of {{name}} is not read, so nothing is limited. Read it, or pass `throws: true`.",
      truthy: "The result of {{name}} is an object and never `false`, so nothing is limited. Read its `ok`.",
      floating: "{{name}} is not awaited, so it may do nothing, and its denial stops nothing. Await it.",
      early: "{{name}} with `reserve` may answer that the work must wait: read `retryAt`, and do the work then.",
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
      "[arguments.0.params.length=0] > MemberExpression.callee[property.name=then] > .object": mark(() => "ignored"),
      "AwaitExpression > .argument": mark((parent) => (parent === "floating" ? "ignored" : parent)),
      "[id.type=ObjectPattern] > .init, [id.type=Identifier] > AwaitExpression.init": (node: Rule.Node) =>
        void faults.set(node, useOf(context.sourceCode, node.parent as VariableDeclarator)),
      "MemberExpression[property.name!=retryAt] > AwaitExpression.object": mark(() => "early"),
      [TESTED]: mark(() => "truthy"),
      [SAME]: mark((parent) => parent),
      [PASSED_ON]: mark((parent) => (/^(ignored|floating)$/.test(parent ?? "") ? parent : undefined)),
      CallExpression: (node) => calls.push(...limitCallIn(context.sourceCode, node)),
      "Program:exit"() {
        for (const call of calls) {
          const fault = isBeside(call, calls) ? "beside" : faultOf(call, faults.get(call.node), throws);
          if (fault) context.report({ node: call.node, messageId: fault, data: { name: call.name } });
        }
      },
    };
  },
};

/** What is wrong with a call whose answer is so used. @param elsewhere - whether limits throw by default. */
function faultOf({ node, name, typeOf }: LimitCall, use: string | undefined, elsewhere: boolean): string | undefined {
  if (!use || use === "floating") return use;
  // After a denial a job's other fields are undefined too, and the code may look at that.
  if (!DECISIONS.test(name) || (use === "apart" && /^(schedule|enqueue)/.test(name))) return undefined;
  const isTrue = (value?: Node) => value && (value.type === "ObjectExpression" || nameIn(value) === "true");
  const throws = typeOf ? typeOf("ok") === "true" : (isTrue(argumentIn(node, "throws")) ?? elsewhere);
  if (use !== "early" && !throws) return use;
  return use !== "apart" && name === "rateLimit" && isTrue(argumentIn(node, "reserve")) ? "early" : undefined;
}

/** Whether it reads a snapshot, and a call of the same limit, which has several rows, is in the same function. */
function isBeside(read: LimitCall, calls: readonly LimitCall[]): boolean {
  const limitOf = ({ node }: LimitCall) => nameIn(argumentIn(node, "name") ?? node) || node;
  const ofSame = calls.filter((call) => call.scope === read.scope && limitOf(call) === limitOf(read));
  // Only the answer of several rows may lack what remains, and that of a config in the call.
  const takes = ofSame.filter(({ node, name }) => name === "rateLimit" && !argumentIn(node, "config"));
  return read.name === "getRateLimit" && takes.some(({ typeOf }) => typeOf?.("remaining").includes("undefined"));
}

type LimitCall = ReturnType<typeof limitCallIn>[number];

/** The call of a limit's function, by the type of its answer, or by its import if there are no types; else none. */
function limitCallIn(code: SourceCode, node: CallExpression & Rule.NodeParentExtension) {
  let root: Node = node.callee;
  while (root.type === "MemberExpression") root = root.object;
  const variable = code.getScope(root).references.find(({ identifier }) => identifier === root)?.resolved;
  const { parent, node: imported } = variable?.defs[0] ?? {};
  const name = nameIn(root === node.callee && imported?.type === "ImportSpecifier" ? imported.imported : node.callee);
  if (!DECISIONS.test(name) && !REST.test(name)) return [];
  const source = parent?.type === "ImportDeclaration" ? String(parent.source.value) : "";
  const typeOf = typesOf(code, node);
  // Ours answer with an `ok`, or at least with null.
  const isOurs = typeOf ? !/^(|void)$/.test(typeOf(DECISIONS.test(name) ? "ok" : undefined)) : SOURCE.test(source);
  return isOurs ? [{ node, name, scope: code.getScope(node).variableScope, typeOf }] : [];
}

/**
 * Gives the type of the answer, or of a field, as text; "" if it has no such field. `limits?.` makes it optional.
 * Undefined without typescript-eslint's types, or if they say nothing of the answer.
 */
function typesOf({ parserServices }: SourceCode, node: Node) {
  type Services = { program?: Program | null; getTypeAtLocation?: (node: Node) => Type };
  const { program, getTypeAtLocation } = parserServices as Services;
  const checker = program?.getTypeChecker();
  const type = getTypeAtLocation && checker?.getAwaitedType(getTypeAtLocation(node));
  if (!checker || !type || ["any", "unknown", "error"].includes(checker.typeToString(type))) return undefined;
  return (field?: string) => {
    if (field === undefined) return checker.typeToString(type);
    const symbol = checker.getNonNullableType(type).getProperty(field);
    return symbol ? checker.typeToString(checker.getTypeOfSymbol(symbol)) : "";
  };
}

/** What is not read of an answer in a variable or a pattern: its `ok` is "apart", its `retryAt` "early". */
function useOf(code: SourceCode, declared: VariableDeclarator): string | undefined {
  const { id } = declared;
  const uses = code.getDeclaredVariables(declared).flatMap(({ references }) => references.filter(({ init }) => !init));
  const members = uses.map(({ identifier }) => (identifier as Rule.Node).parent as Node);
  const reads = id.type === "ObjectPattern" ? id.properties.map((one) => ("key" in one ? one.key : one)) : members;
  const isRead = (field: string) => reads.some((read) => ["", field].includes(nameIn(read)));
  return id.type === "ObjectPattern" && !isRead("ok") ? "apart" : isRead("retryAt") ? undefined : "early";
}

/** The value of a field in the arguments of a call, where it is written out. */
function argumentIn({ arguments: given }: CallExpression, field: string): Node | undefined {
  const fields = given.flatMap((one) => (one.type === "ObjectExpression" ? one.properties : []));
  return fields.flatMap((one) => (one.type === "Property" && nameIn(one.key) === field ? one.value : [])).at(-1);
}

/** The name that an identifier, a literal or a member has; "" of a member that is computed. */
function nameIn(node: Node): string {
  if (node.type === "Literal") return String(node.value);
  if (node.type !== "MemberExpression") return node.type === "Identifier" ? node.name : "";
  return node.computed && node.property.type !== "Literal" ? "" : nameIn(node.property);
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
