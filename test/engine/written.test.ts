/** What a call goes by that says neither plan nor config. */
import { describe, expect, it } from "vitest";
import { parseBucket } from "../../src/engine/request.js";
import { asWritten, storedConfig } from "../../src/engine/written.js";

const config = { kind: "token bucket", rate: 5, period: 1000 } as const;
const pro = { ...config, rate: 50 };
const open = parseBucket({
  name: "a",
  key: "b",
  config: { ...config, shards: 4 },
  plans: [{ plan: "pro", config: pro }],
});

describe("a bucket as its rows say", () => {
  it("is that of a plan, or of a config, with the rows of the limit", () => {
    expect(asWritten(open, "pro")).toMatchObject({ plan: "pro", limit: { config: pro } });
    expect(asWritten(open, pro)).toMatchObject({ plan: pro, limit: { config: { ...pro, shards: 4 } } });
  });

  it("is that of the call where rows say nothing, or the call says what holds", () => {
    expect(asWritten(open, undefined)).toBe(open);
    const named = parseBucket({ name: "a", config, plan: "free" });
    expect(asWritten(named, "pro")).toBe(named);
  });
});

it("rows hold the config of a call without its rows, and without what is left out", () => {
  expect(storedConfig({ ...config, shards: 4, maxReserved: undefined })).toStrictEqual(config);
  expect(parseBucket({ name: "a", config: { ...config, shards: 4 }, plan: null }).plan).toStrictEqual(config);
  expect(parseBucket({ name: "a", config }).plan).toBeUndefined();
});
