/** What became of a job. */
import { expect, it } from "vitest";
import { type JobReader, readJobState } from "../../src/storage/jobs.js";

it("a job is in the state that Convex knows, and deleted when Convex has forgotten it", async () => {
  const stateOf = (job: object | null) =>
    readJobState({ db: { system: { get: () => Promise.resolve(job) } } } as unknown as JobReader, "job" as never);
  expect(await stateOf({ state: { kind: "pending" } })).toBe("pending");
  expect(await stateOf(null)).toBe("deleted");
});
