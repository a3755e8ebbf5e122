/** Law 4. The React hook shows what projectRateLimit says; that it does is for its own tests. */
import { projectRateLimit } from "convex-rate-limits";
import { expect } from "vitest";
import { END_OF_TIME } from "../../src/engine/time.js";
import { lastStartIn } from "../support/snapshots.js";
import { stepsUpTo } from "./arbitraries.js";
import { holds, inEveryWorld } from "./world.js";

inEveryWorld("Law 4, agreement: check, consume and get + project answer alike at the same moment", (where) => {
  const { worlds, subject, isOneRow } = where;
  holds(
    "for any limit, before and after its first row",
    { runs: 100 },
    [worlds, subject.any, stepsUpTo(12)],
    async (open, config, steps) => {
      const world = open();
      let snapshot = await world.get({ config });
      await world.walk(config, steps, async (request, now) => {
        const { count, reserve } = request;
        // The snapshot is as old as the last write: what a client still shows.
        const projected = projectRateLimit(snapshot, { now, count, reserve });
        const checked = await world.check(request);
        const consumed = await world.consume(request);
        // Of a debt beyond the calendar that a snapshot lists, it only says that no end is known.
        const isListed = (checked.retryAt ?? 0) <= lastStartIn(snapshot);
        expect(projected).toEqual(isListed ? checked : { ...checked, retryAt: END_OF_TIME });
        if (isOneRow) expect(consumed).toEqual(checked);
        // A call that reads some of the rows may be denied where all of them together hold enough, never the other way.
        if (consumed.ok || reserve) expect(checked).toMatchObject({ ok: consumed.ok });
        // What the call says of the whole bucket is what check and project say once it is written.
        snapshot = await world.get({ config });
        const { remaining, resetAt } = projectRateLimit(snapshot, { now, count: 0 });
        if (consumed.remaining !== undefined) expect(consumed.remaining).toBe(remaining);
        // A write that splits a row cuts it into shards that fill at different times.
        if (isOneRow) expect(consumed.resetAt).toBe(resetAt);
        return consumed.retryAt;
      });
    },
  );
});
