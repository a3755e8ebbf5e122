/** The terms of a call that names neither plan nor config. */
import { describe, expect, it } from "vitest";
import { bucketOf } from "../../src/engine/request.js";
import { asWritten, storedConfig } from "../../src/engine/bucket.js";

const config = { kind: "token bucket", rate: 5, period: 1000 } as const;
const pro = { ...config, rate: 50 };
const plans = [{ plan: "pro", config: pro }];
const open = bucketOf({ name: "a", key: "b", config: { ...config, shards: 4 }, plans });

describe("a bucket as it is written", () => {
  it("has the stored plan or config, with the limit's own number of rows", () => {
    expect(asWritten(open, "pro")).toMatchObject({ plan: "pro", limit: { config: pro } });
    expect(asWritten(open, pro)).toMatchObject({ plan: pro, limit: { config: { ...pro, shards: 4 } } });
  });

  it("is the call's own bucket if the rows name nothing, or if the call names a plan", () => {
    expect(asWritten(open, undefined)).toBe(open);
    const named = bucketOf({ name: "a", config, plan: "free" });
    expect(asWritten(named, "pro")).toBe(named);
  });
});

it("rows store the config of a call without shards, and without undefined fields", () => {
  expect(storedConfig({ ...config, shards: 4, maxReserved: undefined })).toStrictEqual(config);
  expect(bucketOf({ name: "a", config: { ...config, shards: 4 }, plan: null }).plan).toStrictEqual(config);
  expect(bucketOf({ name: "a", config }).plan).toBeUndefined();
});
