/** The state of a job. */
import { expect, it } from "vitest";
import { type JobReader, readJobState } from "../../src/storage/jobs.js";

it("a job has the state that Convex stores, and is deleted if Convex has none", async () => {
  const stateOf = (job: object | null) =>
    readJobState({ db: { system: { get: () => Promise.resolve(job) } } } as unknown as JobReader, "job" as never);
  expect(await stateOf({ state: { kind: "pending" } })).toBe("pending");
  expect(await stateOf(null)).toBe("deleted");
});
