/** The stand-in for a deployment refuses what a deployment refuses. Each rule is tested with a planted fault. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Deployment, openDeployment } from "../deployment.js";
import { type ComponentRequest, type Module, type PushRequest } from "../wire.js";
import { read } from "../../../test/tidy/files.js";

const moduleOf = (path: string, source: string): Module => ({ path, source, environment: "isolate" });

const FUNCTION = `Object.assign(() => {}, { isQuery: true, isPublic: true, exportArgs: () => '{"type":"any"}', exportReturns: () => "null" })`;
const withArgs = (args: string) => FUNCTION.replace('{"type":"any"}', args);
const fieldOf = (name: string) => `{"type":"object","value":{"${name}":{"fieldType":{"type":"any"}}}}`;
const config = (definition: string) => `export default { export: () => (${definition}) };`;
const uses = (...names: string[]) =>
  config(`{ name: "one", childComponents: ${JSON.stringify(names.map((name) => ({ name, path: "../one" })))} }`);

/** An app with one component that a deployment accepts, with the changes of a case. */
function app(files: Record<string, string>, component: Partial<ComponentRequest> = {}): PushRequest {
  const { "schema.js": schema, "convex.config.js": definition = uses("one"), ...modules } = files;
  const ofComponent = { dependencies: [], schema: null, functions: [], ...component };
  return {
    appDefinition: {
      definition: moduleOf("convex.config.js", definition),
      dependencies: ["../one"],
      schema: schema === undefined ? null : moduleOf("schema.js", schema),
      changedModules: Object.entries(modules).map(([path, source]) => moduleOf(path, source)),
    },
    componentDefinitions: [
      { definitionPath: "../one", definition: moduleOf("convex.config.js", uses()), ...ofComponent },
    ],
  };
}

const table = (indexes: object[], tableName = "notes") => `export default { export: () => JSON.stringify({
  schemaValidation: true,
  tables: [{
    tableName: "${tableName}",
    indexes: ${JSON.stringify(indexes)},
    documentType: {
      type: "object",
      value: { a: { fieldType: { type: "object", value: { b: { fieldType: { type: "string" } } } } } },
    },
  }],
}) };`;
const index = (indexDescriptor: string, ...fields: string[]) => ({ indexDescriptor, fields });
const fields = (count: number) => Array.from({ length: count }, (_, n) => `f${n}`);
const many = (count: number) => Array.from({ length: count }, (_, n) => index(`by_${n}`, `f${n}`));

let deployment: Deployment;
beforeAll(async () => {
  deployment = await openDeployment();
});
afterAll(() => {
  deployment.close();
});

async function push(request: PushRequest): Promise<{ status: number; text: string }> {
  const url = `${deployment.url}/api/deploy2/start_push`;
  const response = await fetch(url, { method: "POST", body: JSON.stringify(request) });
  return { status: response.status, text: await response.text() };
}

const NONE = ["require", "module", "exports", "Buffer", "global", "setImmediate", "queueMicrotask", "process.versions"];

type Files = Record<string, string>;
/** The fault, the files that contain it, and the reason for the refusal; `component` is set if the fault is in the component. */
type Refused = [what: string, files: Files, why: string, component?: Partial<ComponentRequest>];
const atImport = (source: string, why: string): Refused => [source, { "a.js": source }, why];
const inSchema = (source: string, why: string): Refused => {
  return [`a schema with ${source}`, { "schema.js": `${source} ${table([])}` }, why];
};
const asSchema = (schema: string, why: string): Refused => [why, { "schema.js": schema }, why];
const withField = (field: string): Refused => {
  const args = withArgs(`{"type":"array","value":${fieldOf(field)}}`);
  return [`the field ${field}`, { "a.js": `export const f = ${args};` }, `the name ${field}`];
};

const noVariables = "environment variables unsupported when evaluating";
const variable = moduleOf("convex.config.js", `process.env.A; ${uses()}`);
const nodeModule: Module = { ...moduleOf("a.js", ""), environment: "node" };
const REFUSED: Refused[] = [
  atImport("crypto.randomUUID();", "cryptographic randomness unsupported at import time"),
  atImport("crypto.getRandomValues(new Uint8Array(1));", "cryptographic randomness unsupported at import time"),
  atImport('fetch("https://example.com");', "fetch unsupported at import time"),
  atImport("setTimeout(() => {}, 1);", "timers unsupported at import time"),
  atImport('Convex.syscall("get", {});', "a call of Convex unsupported at import time"),
  atImport("Buffer.from([]);", "Buffer is not defined"),
  atImport('import "node:fs";', "Couldn't find the module node:fs"),
  atImport("await 1;", "op-level await"),
  atImport("process.cwd();", "process.cwd is not a function"),
  inSchema("if (process.env.A) throw 1;", `${noVariables} schema`),
  inSchema("crypto.randomUUID();", "cryptographic randomness unsupported when evaluating schema"),
  inSchema('import "./_deps/a.js";', "Couldn't find the module ./_deps/a.js"),
  asSchema(table([index("by_id", "a")]), "the name is reserved"),
  asSchema(table([index("_by_a", "a")]), "the name is reserved"),
  asSchema(table([index("by-a", "a")]), "letters, digits and underscores"),
  asSchema(table([index("i".repeat(65), "a")]), "more than 64 characters"),
  asSchema(table([index("by_a")]), "must have at least one field"),
  asSchema(table([index("by_a", "a", "a")]), "duplicate field a"),
  asSchema(table([index("by_a", "_creationTime")]), "_creationTime is not allowed in indexes"),
  asSchema(table([index("by_c", "a.c")]), "the field a.c does not exist"),
  asSchema(table([index("by_a", "a"), index("by_a", "a.b")]), 'two or more definitions of index "by_a"'),
  asSchema(table([index("by_a", "a"), index("by_also", "a")]), "two indexes have the same fields"),
  asSchema(table([index("by_many", ...fields(17))]), "indexes may have up to 16 fields"),
  asSchema(table(many(65)), "cannot have more than 64 indexes"),
  asSchema(table([], "_notes"), "the name is reserved"),
  asSchema(table([], "my notes"), "letters, digits and underscores"),
  asSchema("export default {};", "no default export that defineSchema made"),
  ["a fault in a chunk", { "a.js": 'import "./_deps/c.js";', "_deps/c.js": "Buffer;" }, "Buffer is not defined"],
  ["a path with a hyphen", { "my-notes.js": "" }, "my-notes.js"],
  ["a path with a part of underscores only", { "a/__/b.js": "" }, "a part that is not"],
  ["a long path", { [`${"a".repeat(62)}.js`]: "" }, "up to 64"],
  ["a file that is not .js", { "a.ts": "" }, "does not end in .js"],
  ["a wrong name of a function", { "a.js": `export const ünder = ${FUNCTION};` }, "letters, digits and underscores"],
  ...["x-limit", "$a", "a".repeat(65)].map(withField),
  ["a wrong field of a table", { "schema.js": table([]).replace(" a: {", ' "a b": {') }, "the name a b is not"],
  ["http.js without a router", { "http.js": "export default {};" }, "isRouter"],
  ["crons.js without crons", { "crons.js": "" }, "isCrons"],
  ["two children with the same name", { "convex.config.js": uses("one", "one") }, "with the same name: one"],
  ["a wrong name of a child", { "convex.config.js": uses("my-limits") }, "letters, digits and underscores"],
  ["a second export", { "convex.config.js": `${uses()} export const a = 1;` }, "must have one export"],
  ["a definition with Math.random", { "convex.config.js": `Math.random(); ${uses()}` }, "Math.random unsupported"],
  ["a definition with a date", { "convex.config.js": `new Date(); ${uses()}` }, "Date unsupported"],
  ["a component's variable", {}, `${noVariables} component definition`, { definition: variable }],
  ["a component for Node.js", {}, '"use node" is not supported', { functions: [nodeModule] }],
  ["a component's wrong schema", {}, "at least one field", { schema: moduleOf("schema.js", table([index("by_a")])) }],
  ["a component's wrong module", {}, "timers unsupported", { functions: [moduleOf("a.js", "setTimeout();")] }],
  ["a component with an absolute path", {}, "is not relative", { definitionPath: "/one" }],
  ["components in a circle", {}, "components use each other", { dependencies: ["../one"] }],
];

/** The range, and the oldest version in it that npm has: 1.47.0 is in convex's changelog, but not on npm. */
const OLDEST = { range: "^1.47.0", version: "1.48.0" };

it("the versions of convex are those of the peer range, and the oldest and the newest are tested every night", () => {
  const { peerDependencies } = JSON.parse(read("package.json")) as { peerDependencies: { convex: string } };
  const tried = /convex: \[(.*)\]/.exec(read(".github/workflows/nightly.yml"))?.[1]?.split(", ");
  expect(peerDependencies.convex).toBe(OLDEST.range);
  expect(tried?.[0]).toBe(JSON.stringify(OLDEST.version));
  expect(tried?.at(-1)).toBe('"latest"');
  expect(read("SECURITY.md")).toContain(`permits convex ${peerDependencies.convex.slice(1, -2)} and every later 1.x`);
});

describe("the stand-in for a deployment", () => {
  it.each(REFUSED)("refuses %s", async (_, files, why, component) => {
    const { status, text } = await push(app(files, component));
    expect(text).toContain(JSON.stringify(why).slice(1, -1));
    expect(status).toBe(400);
  });

  it("accepts an app that uses everything a deployment permits", async () => {
    const { status, text } = await push(
      app({
        "a/b.js": `import { now } from "../_deps/c.js"; export const chance = Math.random() + now; export const f = ${FUNCTION};
          const known = [Intl, URL, Request, structuredClone, AbortController, TextEncoder, crypto.subtle, performance.now()];
          if (known.includes(undefined) || process.env.A || new Date(5).getTime() !== 5 || !(new Date() instanceof Date)) throw 1;`,
        "_deps/c.js": "export const now = Date.now();",
        "schema.js": table([index("by_b", "a.b"), index("by_a", "a")]),
        "convex.config.js": `process.env.A; ${uses("one", "other")}`,
      }),
    );
    expect({ status, text }).toMatchObject({ status: 200 });
    const { analysis, app: root } = JSON.parse(text) as {
      analysis: Record<string, { functions: Record<string, { functions: { name: string }[] }> }>;
      app: { childComponents: Record<string, { componentPath: string }> };
    };
    expect(analysis[""]?.functions["a/b.js"]?.functions.map(({ name }) => name)).toEqual(["f"]);
    expect(Object.values(root.childComponents).map(({ componentPath }) => componentPath)).toEqual(["one", "other"]);
  });

  it("evaluates modules without Node's globals", async () => {
    const source = NONE.map((name) => `if (typeof ${name} !== "undefined") throw new Error("${name}");`).join("\n");
    expect(await push(app({ "a.js": source }))).toMatchObject({ status: 200 });
  });

  it("has no other endpoints", async () => {
    expect((await fetch(`${deployment.url}/api/query`)).status).toBe(404);
  });
});
