/** Calls on one database take turns. */
import { describe, expect, it, vi } from "vitest";
import { inTurn } from "../../src/storage/rows.js";

/** Operations that end when they are told to, and a list of what has begun and ended. */
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

describe("turns on one database", () => {
  it("begin at once when there is none before, and otherwise when the one before has ended, in order", async () => {
    const { events, operation, end } = stage();
    const ctx = { db: {} };
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

  it("go on after one that failed, whose caller has its error", async () => {
    const { events, operation, end } = stage();
    const ctx = { db: {} };
    const failing = inTurn(ctx, operation("a", true));
    const next = inTurn(ctx, operation("b"));
    const failure = expect(failing).rejects.toThrow("a failed");
    await end("a");
    await failure;
    expect(events).toEqual(["a begins", "a ends", "b begins"]);
    await end("b");
    expect(await next).toBe("b");
  });

  it("go on after one that failed before the next was asked for", async () => {
    const { operation, end } = stage();
    const ctx = { db: {} };
    const failure = expect(inTurn(ctx, operation("a", true))).rejects.toThrow("a failed");
    await end("a");
    await failure;
    expect(await inTurn(ctx, () => Promise.resolve(7))).toBe(7);
  });

  it("do not fail the caller of one for what the next does", async () => {
    const ctx = { db: {} };
    const first = inTurn(ctx, () => Promise.resolve(1));
    const second = inTurn(ctx, () => Promise.reject(new Error("mine")));
    expect(await first).toBe(1);
    await expect(second).rejects.toThrow("mine");
  });

  it("do not wait for those on another database; two contexts of one database are one", async () => {
    const { events, operation, end } = stage();
    const db = {};
    const turns = [
      inTurn({ db }, operation("a")),
      inTurn({ db: {} }, operation("other")),
      inTurn({ db }, operation("b")),
    ];
    expect(events).toEqual(["a begins", "other begins"]);
    await end("other");
    await end("a");
    await end("b");
    expect(await Promise.all(turns)).toEqual(["a", "other", "b"]);
  });

  it.each([
    [null, "null"],
    [undefined, "undefined"],
    [5, "5"],
    [{}, "{}"],
    [{ db: null }, '{"db":null}'],
    [{ db: 5 }, '{"db":5}'],
  ])("need one: %j has none", async (ctx, shown) => {
    const operation = vi.fn(() => Promise.resolve(7));
    await expect(inTurn(ctx, operation)).rejects.toThrow(
      `Rate limits in your tables need the ctx of a query or mutation, got ${shown} without db. In an action call the component, or a mutation of yours.`,
    );
    expect(operation).not.toHaveBeenCalled();
  });
});
