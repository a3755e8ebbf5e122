/** The rule `no-ignored-result`, on JavaScript and on TypeScript. */
import rateLimits from "convex-rate-limits/eslint";
import { Linter, RuleTester } from "eslint";
import path from "node:path";
import { parser } from "typescript-eslint";
import { describe, expect, it } from "vitest";

const rule = rateLimits.rules["no-ignored-result"];
RuleTester.describe = describe;
RuleTester.it = it;

const fault = (name: string) => ({ messageId: "ignored", data: { name } });
const imported =
  'import { rateLimit, checkRateLimit, rateLimitAll, checkRateLimitAll, scheduleRateLimited } from "./limits";\n';
const defined = 'import { defineRateLimits } from "convex-rate-limits";\n';
const truthy = (code: string) => ({ code, errors: [{ messageId: "truthy", data: { name: "rateLimit" } }] });
const ignored = (code: string, name = "rateLimit") => ({ code, errors: [fault(name)] });

new RuleTester({ languageOptions: { ecmaVersion: 2022, sourceType: "module" } }).run("no-ignored-result", rule, {
  valid: [
    // Used, in whatever way.
    `${imported}const status = await rateLimit(ctx, { name: "send" });`,
    `${imported}if (!(await rateLimit(ctx, { name: "send" })).ok) throw new Error();`,
    `${imported}const send = (ctx) => rateLimit(ctx, { name: "send" });`,
    `${imported}async function f() { return await checkRateLimit(ctx, { name: "send" }); }`,
    `${imported}use(await rateLimitAll(ctx, []));`,
    `${imported}await rateLimit(ctx, { name: "send" }).then(use);`,
    `${imported}(await rateLimit(ctx, { name: "send" })).ok || fail();`,
    `${imported}const [a] = await Promise.all([rateLimit(ctx, { name: "send" })]);`,
    `${imported}(await rateLimit(ctx, { name: "send" })).ok ? go() : stop();`,
    `${imported}await rateLimit(ctx, { name: "send" }).then((status) => status.ok && go());`,
    `${imported}await rateLimit(ctx, { name: "send" }).then(go, () => fail());`,
    `${imported}const isSame = (await rateLimit(ctx, { name: "send" })) === before;`,
    // Thrown.
    `${imported}await rateLimit(ctx, { throws: false, ...{ throws: true } });`,
    `${imported}await rateLimit(ctx, { name: "send", key, throws: true });`,
    `${imported}await rateLimit(ctx, { ...args, "throws": true });`,
    `${imported}await rateLimitAll(ctx, [{ name: "send" }], { throws: true });`,
    `${imported}const args = { name: "send", throws: true }; await rateLimit(ctx, args);`,
    `${imported}const use = () => void rateLimit(ctx, args); const args = { name: "send", throws: true };`,
    `${imported}await Promise.all([rateLimit(ctx, { name: "send", throws: true })]);`,
    `${defined}const { rateLimit } = defineRateLimits({ send: {} }, { throws: true }); await rateLimit(ctx, { name: "send" });`,
    `${defined}const limits = defineRateLimits({ send: { throws: true } }); await limits.rateLimit(ctx, { name: "send" });`,
    `${defined}const all = { send: { throws: true } }; const { rateLimit: take } = defineRateLimits(all); await take(ctx, { name: "send" });`,
    `${imported}await rateLimit(ctx, { name: "send", throws: { jitter: 0.5 } });`,
    `${defined}const { rateLimit } = defineRateLimits({ send: {} }, { throws: { jitter: 0.5 } }); await rateLimit(ctx, { name: "send" });`,
    // Defined to throw in another file.
    { code: `${imported}await rateLimit(ctx, { name: "send" });`, options: [{ throws: true }] },
    { code: `${imported}await rateLimitAll(ctx, [{ name: "send" }]);`, options: [{ throws: true }] },
    `${imported}const all = await Promise.all(keys.map((key) => rateLimit(ctx, { name: "send", key })));`,
    `${imported}await Promise.all(keys.map((key) => rateLimit(ctx, { name: "send", key, throws: true })));`,
    `${imported}keys.sort((key) => rateLimit(ctx, { name: "send", key }));`,
    `${imported}if ((await rateLimit(ctx, { name: "send" })).ok) go();`,
    `${imported}if (await rateLimit(ctx, { name: "send", throws: true })) go();`,
    `${imported}const status = (await rateLimit(ctx, { name: "send" })) ?? none;`,
    // Several limits, each of which throws.
    `${defined}const { rateLimitAll } = defineRateLimits({ a: { throws: true }, b: { throws: { jitter: 1 } } }); await rateLimitAll(ctx, [{ name: "a" }, { name: "b" }]);`,
    `${defined}const { rateLimitAll } = defineRateLimits({ a: { throws: true } }); const asked = [{ name: "a" }]; await rateLimitAll(ctx, asked);`,
    'import * as ours from "convex-rate-limits"; const limits = ours.defineRateLimits({ send: {} }, { throws: true }); await limits.rateLimit(ctx, { name: "send" });',
    // Code that cannot run, and must not stop the linter.
    'const rateLimit = rateLimit; await rateLimit(ctx, { name: "send" });',
    'const { rateLimit } = rateLimit; await rateLimit(ctx, { name: "send" });',
    'const { rateLimit } = limits; const limits = other; const other = limits; await rateLimit(ctx, { name: "send" });',
    // What defineRateLimits returns has no objects.
    `${defined}const limits = defineRateLimits({ send: {} }); await limits.others.rateLimit(ctx, { name: "send" });`,
    // Not ours.
    'import { rateLimit } from "another-package"; await rateLimit(ctx);',
    'const { rateLimit } = somethingElse(); await rateLimit(ctx, { name: "send" });',
    `${imported}function f(rateLimit) { rateLimit(ctx); }`,
    'await limiter.rateLimit(ctx, { name: "send" });',
    'import { send } from "./limits"; await send(ctx);',
    'import { limits } from "./limits"; await limits.resetRateLimit(ctx, { name: "send" }); await limits[rateLimit](ctx);',
    'await rateLimit(ctx, { name: "send" });',
    `${imported}let take = rateLimit; take = other; await take(ctx, { name: "send" });`,
  ],
  invalid: [
    ignored(`${imported}await rateLimit(ctx, { name: "send" });`),
    ignored(`${imported}rateLimit(ctx, { name: "send" });`),
    ignored(`${imported}void rateLimit(ctx, { name: "send" });`),
    ignored(`${imported}await checkRateLimit(ctx, { name: "send" });`, "checkRateLimit"),
    ignored(`${imported}await rateLimitAll(ctx, [{ name: "send", throws: true }]);`, "rateLimitAll"),
    ignored(`${imported}await checkRateLimitAll(ctx, []);`, "checkRateLimitAll"),
    ignored(
      'import { enqueueRateLimited } from "./limits";\nawait enqueueRateLimited(ctx, { name: "send" }, internal.a.b, {});',
      "enqueueRateLimited",
    ),
    ignored(`${imported}await scheduleRateLimited(ctx, { name: "send" }, internal.a.b, {});`, "scheduleRateLimited"),
    ignored(`${imported}isFree || (await rateLimit(ctx, { name: "send" }));`),
    ignored(`${imported}isFree ? free() : await rateLimit(ctx, { name: "send" });`),
    ignored(`${imported}await rateLimit(ctx, { name: "send" }).catch(report);`),
    ignored(`${imported}await Promise.all([rateLimit(ctx, { name: "send" })]);`),
    ignored(`${imported}await rateLimit(ctx, { name: "send" }), go();`),
    ignored(`${imported}const use = async () => { await rateLimit(ctx, { name: "send" }); };`),
    ignored(`${imported}await rateLimit(ctx, { name: "send", throws: false });`),
    ignored(`${imported}await rateLimit(ctx, args);`),
    ignored(`${imported}const args = { name: "send" }; await rateLimit(ctx, args);`),
    { ...ignored(`${imported}await rateLimit(ctx, { name: "send", throws: false });`), options: [{ throws: true }] },
    {
      ...ignored(
        `${defined}const { rateLimit } = defineRateLimits({ send: {} }); await rateLimit(ctx, { name: "send" });`,
      ),
      options: [{ throws: true }],
    },
    ignored(`${imported}const use = () => void rateLimit(ctx, { name: "send" });`),
    ignored(`${imported}function use() { return void rateLimit(ctx, { name: "send" }); }`),
    ignored(`${imported}await Promise.all(keys.map((key) => rateLimit(ctx, { name: "send", key })));`),
    ignored(`${imported}await Promise.all(keys.map(async (key) => await rateLimit(ctx, { name: "send", key })));`),
    ignored(`${imported}await Promise.all([...keys.map((key) => rateLimit(ctx, { name: "send", key }))]);`),
    ignored(`${imported}keys.forEach((key) => rateLimit(ctx, { name: "send", key }));`),
    ignored(`${imported}const args = args; await rateLimit(ctx, args);`),
    ignored(`${imported}const args = { ...args }; await rateLimit(ctx, args);`),
    ignored(
      `${defined}const { rateLimitAll } = defineRateLimits({ a: { throws: true }, b: {} }); await rateLimitAll(ctx, [{ name: "a" }, { name: "b" }]);`,
      "rateLimitAll",
    ),
    ignored(
      `${defined}const { rateLimitAll } = defineRateLimits({ a: { throws: true } }); await rateLimitAll(ctx, [{ name: "a" }], { throws: false });`,
      "rateLimitAll",
    ),
    // Tested, and always true.
    truthy(`${imported}if (!(await rateLimit(ctx, { name: "send" }))) throw new Error();`),
    truthy(`${imported}if (await rateLimit(ctx, { name: "send" })) go();`),
    truthy(`${imported}const may = (await rateLimit(ctx, { name: "send" })) ? yes : no;`),
    truthy(`${imported}(await rateLimit(ctx, { name: "send" })) || fail();`),
    truthy(`${imported}while (!rateLimit(ctx, { name: "send" })) wait();`),
    truthy(`${imported}if ((await rateLimit(ctx, { name: "send" })) === true) go();`),
    truthy(`${imported}if (false != (await rateLimit(ctx, { name: "send" }))) go();`),
    truthy(`${imported}const may = Boolean(await rateLimit(ctx, { name: "send" }));`),
    truthy(`${imported}switch (!(await rateLimit(ctx, { name: "send" }))) { case true: stop(); }`),
    // Not given to the function that comes next.
    ignored(`${imported}await rateLimit(ctx, { name: "send" }).then(() => go());`),
    ignored(`${imported}const sent = rateLimit(ctx, { name: "send" }).then(function () { return go(); });`),
    ignored(`${imported}await Promise.all([rateLimit(ctx, { name: "send" })]).catch(report).then(() => go(), report);`),
    // The last of equal fields decides.
    ignored(`${imported}await rateLimit(ctx, { throws: true, ...{ throws: false } });`),
    ignored(
      `${imported}const quiet = { throws: false }; await rateLimit(ctx, { name: "send", throws: true, ...quiet });`,
    ),
    // By other names.
    ignored('import * as all from "./limits"; await all.limits.rateLimit(ctx, { name: "send" });'),
    ignored('import * as all from "./limits"; const { limits } = all; await limits.rateLimit(ctx, { name: "send" });'),
    ignored(
      'import * as ours from "convex-rate-limits"; const { rateLimit } = ours.defineRateLimits({ send: {} }); await rateLimit(ctx, { name: "send" });',
    ),
    ignored('import { rateLimit as take } from "./limits"; await take(ctx, { name: "send" });'),
    ignored('import { rateLimit } from "convex-rate-limits"; await rateLimit(ctx, { name: "send", config });'),
    ignored('import { rateLimit } from "@/convex/limits"; await rateLimit(ctx, { name: "send" });'),
    ignored('import * as limits from "./limits"; await limits.rateLimit(ctx, { name: "send" });'),
    ignored('import { limits } from "./limits"; await limits["rateLimit"](ctx, { name: "send" });'),
    ignored('import limits from "./limits"; const take = limits.rateLimit; await take(ctx, { name: "send" });'),
    ignored(
      'import { limits } from "./limits"; const { rateLimit: take } = limits; await take(ctx, { name: "send" });',
    ),
    ignored(
      `${defined}export const { rateLimit } = defineRateLimits({ send: {} }); await rateLimit(ctx, { name: "send" });`,
    ),
    ignored(`${defined}const limits = defineRateLimits({ send: {} }); await limits?.rateLimit(ctx, { name: "send" });`),
    ignored(`${defined}await defineRateLimits({ send: {} }).rateLimit(ctx, { name: "send" });`),
    // What is nearer says otherwise.
    ignored(
      `${defined}const { rateLimit } = defineRateLimits({ send: { throws: false } }, { throws: true }); await rateLimit(ctx, { name: "send" });`,
    ),
    ignored(
      `${defined}const { rateLimit } = defineRateLimits({ send: {} }, { throws: true }); await rateLimit(ctx, { name: "send", throws: false });`,
    ),
    ignored(
      `${defined}const { rateLimit } = defineRateLimits({ send: { throws: true }, other: {} }); await rateLimit(ctx, { name: "other" });`,
    ),
  ],
});

new RuleTester({ languageOptions: { parser } }).run("no-ignored-result in TypeScript", rule, {
  valid: [
    `${imported}const args = { name: "send", throws: true } as const; await rateLimit(ctx, args);`,
    `${defined}const { rateLimit } = defineRateLimits({ send: { throws: true } } as const); await rateLimit(ctx, { name: "send" });`,
    `${imported}const status: Status = await rateLimit(ctx, { name: "send" });`,
    // These imports name no module as other imports do, and must not stop the linter.
    'import limits = require("another-package"); await limits.rateLimit(ctx, { name: "send" });',
    'import limits = other.limits; await limits.rateLimit(ctx, { name: "send" });',
  ],
  invalid: [
    ignored(`${imported}await rateLimit(ctx, { name: "send" } as const);`),
    ignored(`${imported}const args = { name: "send" } satisfies Args; await rateLimit(ctx, args);`),
    ignored(`${imported}await (rateLimit as Take)(ctx, { name: "send" });`),
    ignored(`${imported}(await rateLimit(ctx, { name: "send" }))!;`),
    ignored('import limits from "./limits"; await limits!.rateLimit(ctx, { name: "send" });'),
  ],
});

it("the preset turns it on, and the message says what to do", () => {
  const [message, ...more] = new Linter().verify(`${imported}await rateLimit(ctx, { name: "send" });`, [
    rateLimits.configs.recommended,
  ]);
  expect(more).toEqual([]);
  expect(message).toMatchObject({
    ruleId: "convex-rate-limits/no-ignored-result",
    severity: 2,
    line: 2,
    message: "The result of rateLimit is ignored, so nothing is limited. Read its `ok`, or pass `throws: true`.",
  });
});

describe("with types", () => {
  const typed = new Linter({ cwd: import.meta.dirname });
  const parserOptions = {
    projectService: { allowDefaultProject: ["*.ts"] },
    tsconfigRootDir: import.meta.dirname,
  };
  const lint = (code: string) => {
    const text = `import { rateLimit } from "./typedLimits.js";\ndeclare const ctx: never;\n${code}\n`;
    const config = {
      files: ["**/*.ts"],
      languageOptions: { parser, parserOptions },
      ...rateLimits.configs.recommended,
    };
    return typed.verify(text, [config], { filename: path.join(import.meta.dirname, "typed.ts") });
  };

  it("the type of a result decides, whatever file defines its limit", () => {
    expect(lint('await rateLimit(ctx, { name: "loud" });')).toEqual([]);
    expect(lint('await rateLimit(ctx, { name: "quiet" });')).toMatchObject([{ messageId: "ignored" }]);
    expect(lint('await rateLimit(ctx, { name: "quiet", throws: true });')).toEqual([]);
    expect(lint('await rateLimit(ctx, { name: "loud", throws: false });')).toMatchObject([{ messageId: "ignored" }]);
    expect(lint('void rateLimit(ctx, { name: "loud" });')).toEqual([]);
  });

  it("finds the functions that another package exports by their types", () => {
    const limits = "declare const shared: { limits: { rateLimit: () => Promise<{ ok: boolean }> } };";
    expect(lint(`${limits}\nawait shared.limits.rateLimit();`)).toMatchObject([{ messageId: "ignored" }]);
    expect(lint(`${limits}\nif (await shared.limits.rateLimit()) throw 1;`)).toMatchObject([{ messageId: "truthy" }]);
  });

  it("a function of the app's own with one of our names is none of ours, unless nothing is known of its result", () => {
    const own = (result: string) => {
      const code = `import { limits } from "./untyped.js";\nconst own = limits as { rateLimit: () => ${result} };\nawait own.rateLimit();`;
      return lint(code).filter(({ ruleId }) => ruleId !== null);
    };
    expect(own("Promise<void>")).toEqual([]);
    expect(own("Promise<boolean>")).toEqual([]);
    expect(own("Promise<{ ok: boolean }>")).toMatchObject([{ messageId: "ignored" }]);
    expect(own("Promise<any>")).toMatchObject([{ messageId: "ignored" }]);
  });
});
