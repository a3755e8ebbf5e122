/** A worker beside plain calls on the same split bucket: it mostly reads one row, so that it does not conflict with each of them. */
import { expect, it } from "vitest";
import { arrivals } from "../../bench/simulator/arrivals.js";
import { Backend } from "../../bench/simulator/backend.js";
import { job, queueApp } from "../../bench/simulator/queues.js";
import { placeNames } from "../support/places.js";

const SECONDS = 10;
const poisson = (demand: number, seed: string) =>
  arrivals({ pattern: "poisson", demand, seconds: SECONDS, counts: { from: 1, to: 1 }, seed });

it.each(placeNames)(
  "jobs start while plain calls take half of the rate of a bucket on many rows, in the %s",
  async (place) => {
    const limit = { kind: "token bucket", rate: 1000, period: 1000, capacity: 1000, shards: "auto" } as const;
    const app = queueApp(place, limit, {});
    const enqueuedAt = new Map<number, number>();
    const waits: number[] = [];
    const backend = new Backend(app.app, {
      seed: "1",
      onJob: ({ address, args }, { nowMs }) => {
        if (address.module === "jobs") waits.push(nowMs - (enqueuedAt.get((args as { label: number }).label) ?? NaN));
      },
    });
    for (const { atMs } of poisson(500, "plain")) {
      backend.agenda.plan(atMs, () => {
        backend.call(
          (ctx) => app.rateLimit(ctx, { name: "llm" }),
          ({ outcome }) => {
            expect(outcome.kind).toBe("committed");
          },
        );
      });
    }
    for (const [label, { atMs }] of poisson(2, "jobs").entries()) {
      backend.agenda.plan(atMs, () => {
        enqueuedAt.set(label, atMs);
        backend.call(
          (ctx) => app.enqueueRateLimited(ctx, { name: "llm" }, job, { label }),
          ({ outcome }) => {
            expect(outcome.kind).toBe("committed");
          },
        );
      });
    }
    await backend.agenda.run();
    expect(waits).toHaveLength(enqueuedAt.size);
    // Their tokens are always there. A worker that reads all rows lets them wait until the plain calls have ended.
    expect(Math.max(...waits)).toBeLessThan(2000);
  },
);
