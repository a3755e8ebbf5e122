import { describe, expect, it } from "vitest";
import { defineIn, homeNames, openBackend } from "./homes.js";

describe.each(homeNames)("in the %s home", (home) => {
  it("a burst goes through and the next call is told when", async () => {
    const t = openBackend();
    const { rateLimit, getRateLimit } = defineIn(home, { send: { kind: "token bucket", rate: 5, period: 1000 } });
    const statuses = await t.mutation(async (ctx) => {
      const answers = [];
      for (let i = 0; i < 6; i++) answers.push(await rateLimit(ctx, { name: "send", key: "a" }));
      return answers;
    });
    expect(statuses.map((s) => s.ok)).toEqual([true, true, true, true, true, false]);
    const snap = await t.query(async (ctx) => await getRateLimit(ctx, { name: "send", key: "a" }));
    expect(snap.config.capacity).toBe(5);
    console.log(statuses, snap);
  });
});
