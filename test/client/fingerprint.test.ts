// @vitest-environment edge-runtime
/** A client must not learn from a bucket which key the server chose. One start reveals six bits of the key: test/engine/phase. */
import { parseLimit } from "../../src/engine/limit.js";
import { describe, expect, it } from "vitest";
import { defineIn, openBackend, placeNames } from "../support/places.js";

const KEYS = Array.from({ length: 2000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
const PERIOD = 86_400_000;

describe.each(placeNames)("in the %s", (place) => {
  it("the snapshots of 700 keys of a fixed window show at most 64 starts, all of them in use", async () => {
    const { getRateLimit } = defineIn(place, { open: { kind: "fixed window", rate: 5, period: PERIOD } });
    const snapshots = await openBackend().query(
      async (ctx) => await Promise.all(KEYS.slice(0, 700).map((key) => getRateLimit(ctx, { name: "open", key }))),
    );
    const shown = snapshots.map((snapshot) => JSON.stringify(snapshot));
    expect(new Set(shown).size).toBe(64);
    for (const snapshot of snapshots) expect(snapshot).not.toHaveProperty("key");
  });
});

it("more limits, of any names and periods, reveal no more of a key than the first limit", () => {
  const limits = ["open", "send", "search", "upload"].map((name, i) =>
    parseLimit(name, { kind: "fixed window", rate: 5, period: PERIOD / (i + 1) }),
  );
  const startsOf = (key: string) =>
    limits
      .map((limit) => limit.kind.shownConfig(limit.kind.forKey(limit, key)))
      .map((config) => JSON.stringify(config));
  expect(new Set(KEYS.map((key) => startsOf(key).join())).size).toBe(64);
});
