/** The rule `no-ignored-result`, on JavaScript and on TypeScript. */
import rateLimits from "convex-rate-limits/eslint";
import { Linter, RuleTester } from "eslint";
import path from "node:path";
import { parser } from "typescript-eslint";
import { describe, expect, it } from "vitest";

const rule = rateLimits.rules["no-ignored-result"];
RuleTester.describe = describe;
RuleTester.it = it;

const imported =
  'import { rateLimit, checkRateLimit, rateLimitAll, checkRateLimitAll, scheduleRateLimited } from "./limits";\n';
const truthy = (code: string) => ({ code, errors: [{ messageId: "truthy", data: { name: "rateLimit" } }] });
const nameOf = (code: string) =>
  /(check|adjust|pause|override|reset|release)RateLimit(All)?|rateLimitAll|\w+RateLimited|cancelQueued|\w+Override/.exec(
    code.replace(imported, "").replace(/^import .*?; /, ""),
  )?.[0] ?? "rateLimit";
const ignored = (code: string) => ({ code, errors: [{ messageId: "ignored", data: { name: nameOf(code) } }] });
const floating = (code: string) => ({ code, errors: [{ messageId: "floating", data: { name: nameOf(code) } }] });

const reserved = 'await rateLimit(ctx, { name: "send", reserve: true })';

new RuleTester({ languageOptions: { ecmaVersion: 2022, sourceType: "module" } }).run("no-ignored-result", rule, {
  valid: [
    // The result is used in some way.
    `${imported}const status = await rateLimit(ctx, { name: "send" });`,
    `${imported}if (!(await rateLimit(ctx, { name: "send" })).ok) throw new Error();`,
    `${imported}const send = (ctx) => rateLimit(ctx, { name: "send" });`,
    `${imported}use(await rateLimitAll(ctx, []));`,
    `${imported}await rateLimit(ctx, { name: "send" }).then(use);`,
    `${imported}(await rateLimit(ctx, { name: "send" })).ok || fail();`,
    `${imported}const [a] = await Promise.all([rateLimit(ctx, { name: "send" })]);`,
    `${imported}await rateLimit(ctx, { name: "send" }).then(go, () => fail());`,
    `${imported}const isSame = (await rateLimit(ctx, { name: "send" })) === before;`,
    // A denial is thrown.
    `${imported}await rateLimit(ctx, { throws: false, throws: true });`,
    `${imported}await rateLimit(ctx, { name: "send", key, throws: true });`,
    `${imported}await rateLimit(ctx, { ...args, "throws": true });`,
    `${imported}await rateLimitAll(ctx, [{ name: "send" }], { throws: true });`,
    `${imported}await Promise.all([rateLimit(ctx, { name: "send", throws: true })]);`,
    `${imported}await rateLimit(ctx, { name: "send", throws: { jitter: 0.5 } });`,
    `${imported}const send = () => rateLimit(ctx, { name: "send", throws: true });`,
    `${imported}rateLimit(ctx, { name: "send", throws: true }).then(() => go());`,
    `${imported}await Promise.all(keys.map((key) => rateLimit(ctx, { name: "send", key, throws: true })));`,
    // The limits are defined in another file with `throws: true`.
    { code: `${imported}await rateLimit(ctx, { name: "send" });`, options: [{ throws: true }] },
    `${imported}const all = await Promise.all(keys.map((key) => rateLimit(ctx, { name: "send", key })));`,
    `${imported}keys.sort((key) => rateLimit(ctx, { name: "send", key }));`,
    `${imported}const status = (await rateLimit(ctx, { name: "send" })) ?? none;`,
    `${imported}const status = isFree ? none : await rateLimit(ctx, { name: "send" });`,
    `${imported}const { ok } = await rateLimit(ctx, { name: "send" }); if (!ok) stop();`,
    `${imported}const { ok: may, retryAt } = await rateLimit(ctx, { name: "send" }); if (!may) stop();`,
    `${imported}const { retryAt, ...status } = await rateLimit(ctx, { name: "send" }); use(status);`,
    // A job of a denial is undefined.
    `${imported}const { job } = await scheduleRateLimited(ctx, { name: "send" }, internal.a.b); if (!job) stop();`,
    // Nothing of a snapshot has to be read.
    'import { getRateLimit } from "./limits"; await getRateLimit(ctx, { name: "send" });',
    // What the rule does not see without types: docs/pitfalls.md lists it.
    `${imported}const status = await rateLimit(ctx, { name: "send" }); if (status) go();`,
    `${imported}const take = rateLimit; await take(ctx, { name: "send" });`,
    'import { limits } from "./limits"; const { rateLimit: take } = limits; await take(ctx, { name: "send" });',
    'import { defineRateLimits } from "convex-rate-limits"; const { rateLimit } = defineRateLimits({ send: {} }); await rateLimit(ctx, { name: "send" });',
    'import { getRateLimit, rateLimit } from "./limits"; const f = async () => (await rateLimit(ctx, { name: "a" })).ok && (await getRateLimit(ctx, { name: "a" }));',
    // This code cannot run, and must not stop the linter.
    'const rateLimit = rateLimit; await rateLimit(ctx, { name: "send" });',
    // These functions are not ours.
    'import { rateLimit } from "another-package"; await rateLimit(ctx);',
    'const { rateLimit } = somethingElse(); await rateLimit(ctx, { name: "send" });',
    `${imported}function f(rateLimit) { rateLimit(ctx); }`,
    'await limiter.rateLimit(ctx, { name: "send" });',
    'import { limits } from "./limits"; await limits[rateLimit](ctx);',
    // Nothing of their answers has to be read.
    `${imported}import { adjustRateLimit } from "./limits"; await adjustRateLimit(ctx, { name: "send", count: 500 });`,
    'import { limits } from "./limits"; await limits.resetRateLimit(ctx, { name: "send" });',
    'import { limits } from "./limits"; await Promise.all([limits.pauseRateLimit(ctx, { name: "send", until })]);',
    'import { limits } from "./limits"; const { remaining } = await limits.adjustRateLimit(ctx, { count: 1 });',
    'import { adjustRateLimit } from "another-package"; adjustRateLimit(ctx);',
    // The time of a reservation is read, or may be.
    ...[
      `const status = ${reserved}; if (status.ok) await ctx.scheduler.runAt(status.retryAt ?? now, work);`,
      `const status = ${reserved}; return status;`,
      `const status = ${reserved}; use({ status });`,
      `const { ok, ...status } = ${reserved}; if (ok) use(status);`,
      `const { ok, retryAt } = ${reserved}; if (ok) use(retryAt);`,
      `const { retryAt = now } = ${reserved.replace("}", ", throws: true }")}; use(retryAt);`,
      `use((${reserved}).retryAt);`,
      `return ${reserved};`,
      `const later = ${reserved.replace("await ", "")}; return later.then(use);`,
      `if ((await rateLimit(ctx, { name: "send", reserve: false })).ok) go();`,
      `await rateLimit(ctx, { name: "send", reserve, throws: true });`,
      `if (!(await scheduleRateLimited(ctx, { name: "send", reserve: true }, internal.a.b)).ok) stop();`,
    ].map((code) => `${imported}async function f(ctx) { ${code} }`),
    'await rateLimit(ctx, { name: "send" });',
    `${imported}let take = rateLimit; take = other; await take(ctx, { name: "send" });`,
  ],
  invalid: [
    ...[
      `${imported}await rateLimit(ctx, { name: "send" });`,
      `${imported}await checkRateLimit(ctx, { name: "send" });`,
      `${imported}await rateLimitAll(ctx, [{ name: "send", throws: true }]);`,
      `${imported}await checkRateLimitAll(ctx, []);`,
      `${imported}await scheduleRateLimited(ctx, { name: "send" }, internal.a.b, {});`,
      'import { enqueueRateLimited } from "./limits"; await enqueueRateLimited(ctx, { name: "send" }, internal.a.b, {});',
      `${imported}isFree || (await rateLimit(ctx, { name: "send" }));`,
      `${imported}isFree ? free() : await rateLimit(ctx, { name: "send" });`,
      `${imported}await rateLimit(ctx, { name: "send" }).catch(report);`,
      `${imported}await Promise.all([rateLimit(ctx, { name: "send" })]);`,
      `${imported}await rateLimit(ctx, { name: "send", throws: false });`,
      `${imported}await rateLimit(ctx, args);`,
      `${imported}await Promise.all(keys.map(async (key) => await rateLimit(ctx, { name: "send", key })));`,
      `${imported}await Promise.all([...keys.map((key) => rateLimit(ctx, { name: "send", key }))]);`,
      // The next function does not take the result.
      `${imported}await rateLimit(ctx, { name: "send" }).then(() => go());`,
      `${imported}await Promise.all([rateLimit(ctx, { name: "send" })]).catch(report).then(() => go(), report);`,
      // The functions have other names.
      'import { rateLimit as take } from "./limits"; await take(ctx, { name: "send" });',
      'import { rateLimit } from "convex-rate-limits"; await rateLimit(ctx, { name: "send", config });',
      'import { rateLimit } from "@/convex/limits"; await rateLimit(ctx, { name: "send" });',
      'import { limits } from "./limits"; await limits["rateLimit"](ctx, { name: "send" });',
      'import rateLimit from "./rateLimit"; await rateLimit(ctx, { name: "send" });',
      'import * as all from "./limits"; await all.limits.rateLimit(ctx, { name: "send" });',
      'import { limits } from "./limits"; await limits?.rateLimit(ctx, { name: "send" });',
      `${imported}keys.forEach(async (key) => await rateLimit(ctx, { name: "send", key }));`,
    ].map(ignored),
    // Nobody waits for the answer, so a denial that is thrown stops nothing either.
    ...[
      `${imported}rateLimit(ctx, { name: "send" });`,
      `${imported}void rateLimit(ctx, { name: "send" });`,
      `${imported}const use = () => void rateLimit(ctx, { name: "send" });`,
      `${imported}keys.forEach((key) => rateLimit(ctx, { name: "send", key }));`,
      `${imported}rateLimit(ctx, { name: "send", throws: true });`,
      `${imported}isFree || rateLimit(ctx, { name: "send", throws: true });`,
      `${imported}rateLimit(ctx, { name: "send", throws: true }).catch(report);`,
      `${imported}Promise.all([rateLimit(ctx, { name: "send", throws: true })]);`,
      `${imported}keys.forEach((key) => rateLimit(ctx, { name: "send", key, throws: true }));`,
      `${imported}scheduleRateLimited(ctx, { name: "send", throws: true }, internal.a.b);`,
      'import { limits } from "./limits"; limits?.rateLimit(ctx, { name: "send", throws: true });',
      // The transaction may end before they have written.
      ...["adjust", "pause", "override", "reset", "release"].map(
        (verb) => `import { ${verb}RateLimit } from "./limits"; ${verb}RateLimit(ctx, { name: "send", count: 500 });`,
      ),
      'import { limits } from "./limits"; void limits.clearRateLimitOverride(ctx, { name: "send" });',
      'import { limits } from "./limits"; limits.cancelRateLimited(ctx, job).catch(report);',
      'import { queue } from "./limits"; queue.cancelQueued(ctx, job);',
    ].map(floating),
    // Nothing reads when the reserved work is due, so it runs at once.
    ...[
      `${reserved.replace("}", ", throws: true }")};`,
      `await Promise.all([${reserved.replace("}", ", throws: true }").replace("await ", "")}]);`,
      `if (!(${reserved}).ok) stop(); go();`,
      `const { ok } = ${reserved}; if (ok) go();`,
      `const { ok, takenAt } = ${reserved.replace("true", "{ within: 1000 }")}; if (ok) go(takenAt);`,
      `const status = ${reserved}; if (!status.ok) stop(); go(status.remaining);`,
      `const status = ${reserved.replace("}", ", throws: true }")}; go(() => status["remaining"]);`,
    ].map((code) => ({
      code: `${imported}async function f(ctx) { ${code} }`,
      errors: [{ messageId: "early", data: { name: "rateLimit" } }],
    })),
    // The answer is taken apart, without its `ok` (fault 25).
    ...[
      `${imported}const { remaining } = await rateLimit(ctx, { name: "send" });`,
      `${imported}const { retryAt, statuses } = await rateLimitAll(ctx, []);`,
      `${imported}const { resetAt } = (await checkRateLimit(ctx, { name: "send" }));`,
    ].map((code) => {
      return { ...ignored(code), errors: [{ messageId: "apart", data: { name: nameOf(code) } }] };
    }),
    // The result is tested, and is always true.
    ...[
      `${imported}if (!(await rateLimit(ctx, { name: "send" }))) throw new Error();`,
      `${imported}if (await rateLimit(ctx, { name: "send" })) go();`,
      `${imported}const may = (await rateLimit(ctx, { name: "send" })) ? yes : no;`,
      `${imported}(await rateLimit(ctx, { name: "send" })) || fail();`,
      `${imported}if (isFree || (await rateLimit(ctx, { name: "send" }))) go();`,
      `${imported}const may = (isFree ? await rateLimit(ctx, { name: "send" }) : other) ? yes : no;`,
    ].map(truthy),
    ...[`${imported}await rateLimit(ctx, { name: "send", throws: false });`].map((code) => ({
      ...ignored(code),
      options: [{ throws: true }],
    })),
  ],
});

new RuleTester({ languageOptions: { parser } }).run("no-ignored-result in TypeScript", rule, {
  valid: [
    // These imports do not name a module as other imports do, and must not stop the linter.
    'import limits = require("another-package"); await limits.rateLimit(ctx, { name: "send" });',
    'import limits = other.limits; await limits.rateLimit(ctx, { name: "send" });',
  ],
  invalid: [
    ...[
      `${imported}const args = { name: "send" } satisfies Args; await rateLimit(ctx, args);`,
      `${imported}(await rateLimit(ctx, { name: "send" }))!;`,
    ].map(ignored),
  ],
});

it("the preset enables the rule, and its message says what to do", () => {
  const [message, ...more] = new Linter().verify(`${imported}await rateLimit(ctx, { name: "send" });`, [
    // A config may name the plugin, too: ESLint refuses one name for two objects.
    { plugins: { "convex-rate-limits": rateLimits } },
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
  const parserOptions = { projectService: { allowDefaultProject: ["*.ts"] }, tsconfigRootDir: import.meta.dirname };
  const head = [
    'import { adjustRateLimit, getRateLimit, rateLimit, resetRateLimit } from "./typedLimits.js";',
    'import { limits } from "./untyped.js";',
    "declare const ctx: never;",
    "declare const maybe: { rateLimit: typeof rateLimit } | undefined;",
    "declare const shared: { limits: { rateLimit: () => Promise<{ ok: boolean }> } };",
  ];

  /** What the rule says of each piece of code. Each is a line of one file, since to check a file takes a third of a second. */
  const lint = (...pieces: readonly string[]) => {
    const lines = [...head, ...pieces.map((piece, i) => `export async function f${i}() { ${piece} }`)];
    const config = {
      files: ["**/*.ts"],
      languageOptions: { parser, parserOptions },
      ...rateLimits.configs.recommended,
    };
    const found = typed.verify(lines.join("\n"), [config], { filename: path.join(import.meta.dirname, "typed.ts") });
    const ids = lines.map((_, i) => found.flatMap(({ line, messageId }) => (line === i + 1 ? [messageId] : [])));
    expect(ids.slice(0, head.length).flat()).toEqual([]);
    return ids.slice(head.length);
  };

  it("the type of a result decides, in any file that defines the limit", () => {
    const found = lint(
      'await rateLimit(ctx, { name: "loud" });',
      'await rateLimit(ctx, { name: "quiet" });',
      'await rateLimit(ctx, { name: "quiet", throws: true });',
      'await rateLimit(ctx, { name: "loud", throws: false });',
      'void rateLimit(ctx, { name: "loud" });',
      'await maybe?.rateLimit(ctx, { name: "quiet" });',
      'await maybe?.rateLimit(ctx, { name: "loud" });',
    );
    expect(found).toEqual([[], ["ignored"], [], ["ignored"], ["floating"], ["ignored"], []]);
  });

  it("a change that nobody awaits is found by the type of its answer", () => {
    const results = ["Promise<null>", "Promise<{ ok: boolean }>", "void", "Promise<void>"];
    const found = lint(
      ...results.map((result) => `const own = limits as { adjustRateLimit: () => ${result} }; own.adjustRateLimit();`),
      'resetRateLimit(ctx, { name: "quiet" });',
      'void adjustRateLimit(ctx, { name: "loud", count: 1 });',
      'await resetRateLimit(ctx, { name: "quiet" });',
    );
    expect(found).toEqual([["floating"], ["floating"], [], [], ["floating"], ["floating"], []]);
  });

  it("a reservation whose time is not read is found, whether its limit throws or not", () => {
    const found = lint(
      'await rateLimit(ctx, { name: "loud", reserve: true });',
      'const { ok } = await rateLimit(ctx, { name: "quiet", reserve: true }); if (!ok) throw 1;',
      'const { retryAt } = await rateLimit(ctx, { name: "loud", reserve: true }); void retryAt;',
      'const status = (await rateLimit(ctx, { name: "loud", reserve: true }))!; return status;',
    );
    expect(found).toEqual([["early"], ["early"], [], []]);
  });

  it("a read of all rows is named beside a call of the same limit with several rows, in the same function", () => {
    const take = (name: string) => `await rateLimit(ctx, { name: "${name}", throws: true });`;
    const get = (name: string) => `return await getRateLimit(ctx, { name: "${name}" });`;
    const config = '{ kind: "token bucket", rate: 1, period: 1000 }';
    const inline = `await rateLimit(ctx, { name: "inline", config: ${config}, throws: true });`;
    const computed = 'const name = () => "hot" as const; await rateLimit(ctx, { name: name(), throws: true });';
    const found = lint(
      `${take("hot")} ${get("hot")}`,
      `const snapshot = async () => { ${get("hot")} }; await snapshot(); ${take("hot")}`,
      `const snapshot = await getRateLimit(ctx, { name: "hot" }); ${take("hot")} return snapshot;`,
      `${take("quiet")} ${get("quiet")}`,
      `${take("hot")} ${get("quiet")}`,
      get("hot"),
      `${inline} return await getRateLimit(ctx, { name: "inline", config: ${config} });`,
      `${computed} return await getRateLimit(ctx, { name: name() });`,
      `await adjustRateLimit(ctx, { name: "hot", count: 1 }); ${get("hot")}`,
    );
    expect(found).toEqual([["beside"], [], ["beside"], [], [], [], [], [], []]);
  });

  it("an answer that is taken apart without its ok is found only if it may be a denial", () => {
    const found = lint(
      'const { remaining } = await rateLimit(ctx, { name: "quiet" }); void remaining;',
      'const { remaining } = await rateLimit(ctx, { name: "loud" }); void remaining;',
    );
    expect(found).toEqual([["apart"], []]);
  });

  it("the rule finds the functions that another package exports by their types", () => {
    const found = lint("await shared.limits.rateLimit();", "if (await shared.limits.rateLimit()) throw 1;");
    expect(found).toEqual([["ignored"], ["truthy"]]);
  });

  it("an app's own function with one of our names is not ours, unless the type of its result looks like ours", () => {
    const results = ["Promise<void>", "Promise<boolean>", "Promise<{ ok: boolean }>", "Promise<any>"];
    const found = lint(
      ...["await", "void"].flatMap((how) =>
        results.map((result) => `const own = limits as { rateLimit: () => ${result} }; ${how} own.rateLimit();`),
      ),
    );
    expect(found).toEqual([[], [], ["ignored"], [], [], [], ["floating"], []]);
  });
});
