/** Law 7: both places answer alike, a sweep changes no answer, and a reset makes a key fresh. */
import fc from "fast-check";
import { describe, expect } from "vitest";
import { stepsUpTo, T0 } from "./arbitraries.js";
import { subjects } from "./subjects.js";
import { holds, inBothPlaces, inEveryWorld, underFakeClock, type World } from "./world.js";

describe("Law 7, equivalence: both places answer alike", () => {
  underFakeClock();
  const places = inBothPlaces();
  describe.each(subjects())("$title", (subject) => {
    describe.each(["light", "whole"] as const)("on a %s backend", (backend) => {
      holds(
        "on any number of rows",
        { runs: backend === "light" ? 300 : 80 },
        [places, subject.any, stepsUpTo(12)],
        async (openBoth, config, steps) => {
          const [tables, component] = openBoth(backend) as [World, World];
          const contents = async (world: World) =>
            (await world.rows()).map((row) => ({ ...row, _id: undefined, _creationTime: undefined }));
          await tables.walk(config, steps, async (any) => {
            const request = { ...any, key: "a" };
            const [here, there] = [await tables.consume(request), await component.consume(request)];
            expect(there).toEqual(here);
            expect(await component.check(request)).toEqual(await tables.check(request));
            expect(await component.get(request)).toEqual(await tables.get(request));
            expect(await contents(component)).toEqual(await contents(tables));
            return here.retryAt;
          });
        },
      );
    });
  });
});

inEveryWorld("Law 7, equivalence", ({ worlds, subject, isOneRow }) => {
  const acts = fc.array(fc.constantFrom("refund", "pause", "reset", "none", "none", "none"), {
    minLength: 1,
    maxLength: 9,
  });
  const both = async <T>(all: readonly [World, World], call: (one: World) => Promise<T>) => {
    // One after the other, since each draws its own random numbers.
    const [own, other] = [await call(all[0]), await call(all[1])];
    expect(own).toEqual(other);
    return own;
  };

  holds(
    "a sweep changes no answer, whatever the rows were written under",
    { runs: 120, least: { swept: isOneRow && subject.title !== "a calendar window" ? 10 : -1 } },
    [worlds, subject.exact, stepsUpTo(12), acts],
    async (open, config, steps, acts, seen) => {
      const all: [World, World] = [open(), open()];
      const [swept] = all;
      let step = 0;
      let isDone = false;
      let later = 0;
      await swept.walk(config, steps, async (request, walked) => {
        if (isDone) return undefined;
        const now = walked + later;
        swept.setClock(now);
        const act = acts[step++ % acts.length];
        if (act === "refund")
          await both(all, (one) => one.adjust({ config, count: -request.count, takenAt: now - 1000 }));
        if (act === "pause") await both(all, (one) => one.pause({ config, until: now + 500 }));
        if (act === "reset") {
          await both(all, (one) => one.reset({ config }));
          // A reset of no rows is not remembered, so what is taken in its millisecond comes back. Else it need not.
          later++;
          swept.setClock(walked + later);
        }
        const { retryAt } = await both(all, async (one) => {
          const answer = await one.consume({ ...request, refundable: true });
          // A row that was deleted and written again has another id.
          return { ...answer, row: undefined };
        });
        // Rows that have been full for a minute are deleted.
        later += step % 2 === 0 ? 70_000 : 0;
        swept.setClock(walked + later);
        const before = (await swept.rows()).length;
        await swept.sweep();
        if ((await swept.rows()).length < before) {
          seen.swept++;
          await both(all, (one) => one.held({ config }));
          // Calls on several rows draw other rows from here on.
          isDone = !isOneRow;
        }
        return retryAt && retryAt - later;
      });
    },
  );

  holds(
    "a reset makes a key fresh, whatever was done to it, and nothing from before comes back",
    { runs: 100, least: { used: 20 } },
    [worlds, subject.exact, stepsUpTo(8), stepsUpTo(8)],
    async (open, config, before, since, seen) => {
      const all: [World, World] = [open(), open()];
      const [world] = all;
      const undo: (() => Promise<unknown>)[] = [];
      let last = T0;
      await world.walk(config, before, async (request, now) => {
        last = now;
        const { ok, retryAt, takenAt } = (await world.consume({ ...request, refundable: true })) as {
          ok: boolean;
          retryAt?: number;
          takenAt?: number;
        };
        // A count of nothing writes no row that could remember the reset.
        const isTaken = ok && request.count > 0 && takenAt !== undefined;
        if (isTaken) undo.push(() => world.adjust({ config, count: -1, takenAt }));
        const scheduled = await world.schedule({ config, count: request.count });
        if (scheduled.ok) undo.push(() => world.cancel(scheduled.job));
        if (request.reserve) await world.pause({ config, until: now + 500 });
        seen.used++;
        return retryAt;
      });
      await world.reset({ config });
      await both(all, (one) => one.held({ config }).then(({ remaining }) => remaining));
      await world.walk(config, since, async (request, now) => {
        if (now < last) world.setClock(last);
        await undo.shift()?.();
        if (!isOneRow) {
          await both(all, (one) => one.held({ config }).then(({ remaining }) => remaining));
          return undefined;
        }
        const { ok, retryAt } = await both(all, (one) =>
          one.consume(request).then(({ ok, retryAt, remaining }) => ({ ok, retryAt, remaining })),
        );
        return ok ? undefined : retryAt;
      });
    },
  );
});
