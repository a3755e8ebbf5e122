/** Calls of one run take turns, even if its ctx.db is wrapped. Calls of another run do not wait for them. */
import { describe, expect, it, vi } from "vitest";
import { defineIn } from "../support/places.js";
import { inTurn } from "../../src/storage/rows.js";

/** Operations that end when `end` is called, and a list of their begins and ends. */
function stage() {
  const events: string[] = [];
  const endings = new Map<string, () => void>();
  const operation =
    (name: string, fails = false) =>
    async () => {
      events.push(`${name} begins`);
      await new Promise<void>((resolve) => endings.set(name, resolve));
      events.push(`${name} ends`);
      if (fails) throw new Error(`${name} failed`);
      return name;
    };
  const end = async (name: string) => {
    endings.get(name)?.();
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  return { events, operation, end };
}

/** The ctx of a new run, and a ctx whose `db` a helper wraps anew for each call. */
const open = () => ({ db: {}, runQuery: () => Promise.resolve() });
const wrapped = (ctx: object) => ({ ...ctx, db: {} });
const rewrapping = {
  get db() {
    return {};
  },
  get runQuery() {
    return () => Promise.resolve();
  },
};

describe("turns of one run", () => {
  it("run in order: the first begins at once, and each later one when the previous one has ended", async () => {
    const { events, operation, end } = stage();
    const ctx = open();
    const turns = ["a", "b", "c"].map((name) => inTurn(ctx, operation(name)));
    expect(events).toEqual(["a begins"]);
    await end("b");
    expect(events).toEqual(["a begins"]);
    await end("a");
    expect(events).toEqual(["a begins", "a ends", "b begins"]);
    await end("b");
    await end("c");
    expect(await Promise.all(turns)).toEqual(["a", "b", "c"]);
    expect(events.slice(-2)).toEqual(["c begins", "c ends"]);
  });

  it("continue after a turn that failed, whose caller gets the error, even if the next was requested before", async () => {
    const { events, operation, end } = stage();
    const ctx = open();
    const failure = expect(inTurn(ctx, operation("a", true))).rejects.toThrow("a failed");
    const next = inTurn(ctx, operation("b"));
    await end("a");
    await failure;
    expect(events).toEqual(["a begins", "a ends", "b begins"]);
    await end("b");
    expect(await next).toBe("b");
    await expect(inTurn(ctx, () => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
    expect(await inTurn(ctx, () => Promise.resolve(7))).toBe(7);
  });

  it.each<[string, (ctx: ReturnType<typeof open>) => object[]]>([
    ["its ctx three times", (ctx) => [ctx, ctx, ctx]],
    ["one database in three contexts", ({ db }) => [{ db }, { db }, { db }]],
    ["a database that is wrapped anew for each call", (ctx) => [wrapped(ctx), wrapped(ctx), wrapped(ctx)]],
    ["a wrapped database without the rest of the ctx", (ctx) => [ctx, { db: {} }, { db: {} }]],
    ["a wrapped database before the whole ctx", (ctx) => [{ db: ctx.db }, { db: {} }, ctx]],
    ["a runQuery that is not a function", ({ db }) => [1, 2, 3].map(() => ({ db, runQuery: 5 }))],
    ["a ctx that wraps what is read of it, each time anew", () => Array<object>(3).fill(rewrapping)],
    ["its ctx between two wrapped ones", (ctx) => [wrapped(ctx), ctx, wrapped(ctx)]],
  ])("are taken with %s, and another run does not wait for them", async (_, contexts) => {
    const { events, operation, end } = stage();
    await inTurn(open(), () => Promise.resolve("an earlier run, in the same module"));
    const [first = {}, second = {}, third = {}] = contexts(open());
    const turns = [inTurn(first, operation("a")), inTurn(second, operation("b")), inTurn(third, operation("c"))];
    const other = inTurn(open(), operation("other"));
    await end("nothing yet");
    expect([...events].sort()).toEqual(["a begins", "other begins"]);
    for (const name of ["other", "a", "b", "c"]) await end(name);
    expect(await Promise.all([...turns, other])).toEqual(["a", "b", "c", "other"]);
    expect(events.slice(2)).toEqual(["other ends", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  });

  it("are taken by the first two calls of a module, even if only the second knows its run", async () => {
    vi.resetModules();
    const { inTurn } = await import("../../src/storage/rows.js");
    const { events, operation, end } = stage();
    const turns = [inTurn({ db: {} }, operation("a")), inTurn(open(), operation("b"))];
    expect(events).toEqual(["a begins"]);
    for (const name of ["a", "b"]) await end(name);
    expect(await Promise.all(turns)).toEqual(["a", "b"]);
  });

  it.each<[string, (ctx: object) => object]>([
    ["", (ctx) => ctx],
    [", also if the app hides its database", (ctx) => ({ ...ctx, db: undefined })],
  ])("are also taken by calls into the component: a mutation never has two of them at once%s", async (_, seen) => {
    const { events, operation, end } = stage();
    const names = ["a", "b"];
    const runMutation = () => operation(names.shift() ?? "")();
    const ctx = { ...open(), runMutation };
    const config = { kind: "token bucket", rate: 1, period: 1000 } as const;
    const { rateLimit } = defineIn("component", { any: config });
    const calls = [1, 2].map(() => rateLimit(seen(ctx) as never, { name: "any" }).catch(String));
    const cancel = inTurn(ctx, operation("cancel"));
    for (const name of ["a", "b", "cancel"]) await end(name);
    await Promise.all([...calls, cancel]);
    const inOrder = ["a", "b", "cancel"].flatMap((name) => [`${name} begins`, `${name} ends`]);
    expect(events).toEqual(inOrder);
  });

  it.each([null, undefined, 5, {}, { db: null }, { db: 5 }])("need a ctx with db: %j has none", async (ctx) => {
    const operation = vi.fn(() => Promise.resolve(7));
    const problem = `Rate limits in your tables need the ctx of a query or mutation, got ${JSON.stringify(ctx)} without db. In an action call the component, or a mutation of yours.`;
    await expect(inTurn(ctx, operation)).rejects.toThrow(problem);
    expect(operation).not.toHaveBeenCalled();
  });
});
