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
    expect(asWritten(open, { plan: "pro" })).toMatchObject({ plan: "pro", limit: { config: pro } });
    expect(asWritten(open, { plan: pro })).toMatchObject({ plan: pro, limit: { config: { ...pro, shards: 4 } } });
  });

  it("has the first plan with the same bucket if a deploy has taken the stored one away, or else the call's own", () => {
    const window = { kind: "sliding window", rate: 5, period: 1000 } as const;
    const several = { ...open, plans: [{ plan: "trial", config: window }, ...plans] };
    expect(asWritten(several, { plan: "old" })).toMatchObject({ plan: "pro", limit: { config: pro } });
    for (const plan of ["old", undefined]) {
      expect(asWritten(several, { plan, bucket: "sliding window 1000" })).toMatchObject({ plan: "trial" });
      expect(asWritten(several, { plan, bucket: "sliding window 5" })).toBe(several);
    }
  });

  it("is the call's own bucket if the rows name nothing, or if the call names a plan", () => {
    for (const row of [undefined, {}]) expect(asWritten(open, row)).toBe(open);
    const named = bucketOf({ name: "a", config, plan: "free" });
    expect(asWritten(named, { plan: "pro" })).toBe(named);
  });
});

it("rows store the config of a call without shards, and without undefined fields", () => {
  expect(storedConfig({ ...config, shards: 4, maxReserved: undefined })).toStrictEqual(config);
  expect(bucketOf({ name: "a", config: { ...config, shards: 4 }, plan: null }).plan).toStrictEqual(config);
  expect(bucketOf({ name: "a", config }).plan).toBeUndefined();
});
