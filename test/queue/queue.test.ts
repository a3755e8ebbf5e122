import { describe, expect, it, vi } from "vitest";
import { NOW, useClock } from "../support/jobs.js";
import { placeNames, rowsIn } from "../support/places.js";
import { openQueues, run } from "../support/queues.js";

useClock();

describe.each(placeNames)("in the %s", (place) => {
  it("runs one", async () => {
    const { t, starts, enqueueRateLimited } = openQueues(place, {
      llm: { kind: "token bucket", rate: 10, period: 1000, capacity: 2, queue: {} },
    });
    for (let i = 0; i < 5; i++) {
      await t.mutation(async (ctx) => await enqueueRateLimited(ctx, { name: "llm" }, run, { label: `${i}` }));
    }
    let runs = 0;
    while (vi.getTimerCount() > 0 && runs++ < 100) {
      vi.advanceTimersToNextTimer();
      await t.finishInProgressScheduledFunctions();
    }
    console.log(place, runs, Date.now() - NOW, starts.map(({ label, at }) => [label, at - NOW]));
    console.log(await rowsIn(place, t));
  });
});
