/** Checks `retryAt` against the server's clock. */
import { api } from "../../stage/convex/_generated/api.js";
import type { Check, Prover } from "./check.js";
import { sleep } from "./sleep.js";

interface Case {
  readonly place: "tables" | "component";
  readonly shards: number;
}

/** The calls around `retryAt`, by the server's clock before and after each decision. */
interface Tally {
  looks: number;
  /** The calls that were allowed before `retryAt`, and those that were denied from `retryAt` on. */
  early: number;
  late: number;
  /** The time from the last denial to `retryAt`, and from `retryAt` to the first success, in ms. */
  closestBefore: number;
  closestAfter: number;
}

const EVERY_MS = 5;

export const exactness: readonly Check[] = (
  [
    { place: "tables", shards: 1 },
    { place: "component", shards: 1 },
    { place: "tables", shards: 4 },
    { place: "component", shards: 4 },
  ] as const
).map((one) => checkOf(one));

function checkOf({ place, shards }: Case): Check {
  const isOneRow = shards === 1;
  return {
    subject: "Exactness",
    name: `retryAt of a limit in ${place === "tables" ? "your tables" : "the component"}, on ${isOneRow ? "one row" : `${shards} rows`}`,
    expected: isOneRow
      ? "by the server's clock, each call before retryAt is denied and each from then on is allowed"
      : "by the server's clock, each call from retryAt on is allowed",
    calls: ({ cycles }) => cycles * 250,
    seconds: ({ cycles }) => 5 + cycles * 2,
    run: async (prover) => {
      const asked = {
        secret: prover.secret,
        key: prover.key(place, "proof", `exact-${place}-${shards}`),
        rate: isOneRow ? 4 : 8,
        capacity: isOneRow ? 1 : 8,
        shards,
      };
      const tally: Tally = { looks: 0, early: 0, late: 0, closestBefore: Infinity, closestAfter: Infinity };
      for (let cycle = 0; cycle < prover.effort.cycles; cycle++) {
        const retryAt = await drain(prover, place, asked);
        await look(prover, place, asked, retryAt, tally);
      }
      const holds = tally.late === 0 && (!isOneRow || tally.early === 0) && tally.closestAfter < Infinity;
      const { looks, early, late, closestBefore, closestAfter } = tally;
      return {
        seen: `${looks} calls: ${late} denied from retryAt on, ${early} allowed before; the closest came ${closestBefore} ms before and ${closestAfter} ms after`,
        holds,
        figures: { ...tally },
      };
    },
  };
}

interface Asked {
  secret: string;
  key: string;
  rate: number;
  capacity: number;
  shards: number;
}

/** Takes tokens until a call is denied. Returns its `retryAt`. */
async function drain({ http }: Prover, place: Case["place"], asked: Asked): Promise<number> {
  for (let call = 0; call < 200; call++) {
    const { ok, retryAt } = await http.mutation(api.prove[place].hit, asked, { skipQueue: true });
    if (!ok && retryAt !== undefined) return retryAt;
  }
  throw new Error("200 calls in a row were allowed.");
}

/** Asks every 5 ms, without waiting for answers, until well after `retryAt`: until five calls were allowed. */
async function look({ http }: Prover, place: Case["place"], asked: Asked, retryAt: number, tally: Tally) {
  const answers: Promise<void>[] = [];
  let allowed = 0;
  // 200 calls take a second. Even if the round trip is slower, it is not worth more calls.
  for (let call = 0; call < 200 && allowed < 5; call++) {
    answers.push(
      http.mutation(api.prove[place].look, asked, { skipQueue: true }).then(({ ok, before, after }) => {
        tally.looks++;
        if (ok) allowed++;
        if (ok && after < retryAt) tally.early++;
        if (!ok && before >= retryAt) tally.late++;
        if (!ok && after < retryAt) tally.closestBefore = Math.min(tally.closestBefore, retryAt - after);
        if (ok && before >= retryAt) tally.closestAfter = Math.min(tally.closestAfter, before - retryAt);
      }),
    );
    await sleep(EVERY_MS);
  }
  await Promise.all(answers);
}
