/** A hot key on several rows: each operation beside its plain calls (law 15), a pause, and charges. */
import { api } from "../../stage/convex/_generated/api.js";
import { CHARGE, OPERATIONS } from "../../stage/convex/prove/operations.js";
import type { Check, Effort, Prover } from "./check.js";
import { percent } from "./contention.js";
import { quantile } from "./latencies.js";
import { load, MOST_MS, mutate } from "./load.js";

const subject = "Hot key";
const notEmbedded = "it has one lock instead of conflicts";

/** One call in this many is an operation, the others are plain. */
const EVERY = 10;
/** The seconds of a pause's load, and of that of charges. */
const BRIEF_SECONDS = 2;
const PAUSE_MS = 500;
/** How much a check with a brief load does: one call more than the load. */
const BRIEF = {
  calls: ({ hot: { perSecond } }: Effort) => perSecond * BRIEF_SECONDS + 1,
  seconds: () => BRIEF_SECONDS + MOST_MS / 1000 + 1,
};

export const hot: readonly Check[] = [
  {
    subject,
    name: "Every operation beside plain calls",
    expected: "no operation fails, and no plain call",
    notEmbedded,
    calls: ({ hot: { perSecond, seconds } }) => perSecond * seconds,
    seconds: ({ hot }) => hot.seconds + MOST_MS / 1000,
    run: async (prover) => {
      const asked = askedOf(prover, "proofHot", "beside");
      const kinds = ["plain call", ...OPERATIONS] as const;
      const tries = new Map(kinds.map((kind) => [kind, { calls: 0, latencies: [] as number[] }]));
      const { firstError } = await load(prover, prover.effort.hot, async (client, n) => {
        const turn = Math.floor(n / EVERY) % OPERATIONS.length;
        const kind = (n % EVERY === 0 ? OPERATIONS[turn] : undefined) ?? "plain call";
        const one = tries.get(kind);
        if (one) one.calls++;
        const start = performance.now();
        await (kind === "plain call"
          ? mutate(client, api.prove.hot.hit, asked)
          : mutate(client, api.prove.hot.operate, { ...asked, operation: kind }));
        one?.latencies.push(performance.now() - start);
      });
      const figures = Object.fromEntries(
        [...tries].map(([kind, { calls, latencies }]) => [
          kind,
          `${calls} calls, ${calls - latencies.length} failed, p99 ${quantile(latencies, 0.99)} ms`,
        ]),
      );
      const isComplete = [...tries.values()].every(({ calls, latencies }) => calls > 0 && latencies.length === calls);
      const seen = Object.entries(figures).map(([kind, figure]) => `${kind}: ${figure}`);
      return { seen: seen.join("; ") + firstError, holds: isComplete, figures };
    },
  },
  {
    subject,
    name: "A pause under load",
    expected: "no call that is sent after the pause's answer starts anything before its end; afterwards calls do",
    ...BRIEF,
    run: async (prover) => {
      const asked = askedOf(prover, "proofHot", "pause");
      let pausedAt = Infinity;
      let until = Infinity;
      let paused = Promise.resolve();
      const brief = briefly(prover);
      const { answers, firstError } = await load(prover, brief, async (client, n) => {
        if (n === Math.floor((brief.perSecond * brief.seconds) / 4)) {
          paused = prover.http.mutation(api.prove.hot.pause, { ...asked, forMs: PAUSE_MS }).then((end) => {
            pausedAt = performance.now();
            until = end;
          });
        }
        const isAfter = performance.now() > pausedAt;
        const { ok, at } = await mutate(client, api.prove.hot.hit, asked);
        return { ok, at, isAfter };
      });
      await paused;
      const during = answers.filter(({ isAfter, at }) => isAfter && at < until);
      const early = during.filter(({ ok }) => ok).length;
      const late = answers.filter(({ ok, at }) => ok && at >= until).length;
      return {
        seen: `${during.length} calls in the pause, ${early} of them allowed; ${late} allowed after it${firstError}`,
        holds: during.length > 0 && early === 0 && late > 0,
      };
    },
  },
  {
    subject,
    name: "Charges under load",
    expected: "the bucket has lost what the calls that succeeded took, and no token more",
    ...BRIEF,
    run: async (prover) => {
      const asked = askedOf(prover, "proofQuota", "charge");
      const { answers, calls, firstError } = await load(prover, briefly(prover), (client, n) =>
        mutate(client, api.prove.hot.spend, { ...asked, isCharge: n % 2 === 0 }),
      );
      const taken = answers.reduce<number>((sum, tokens) => sum + tokens, 0);
      const spent = await prover.http.query(api.prove.hot.spent, asked);
      const charges = answers.filter((tokens) => tokens === CHARGE).length;
      const failed = percent((calls - answers.length) / calls);
      return {
        seen: `${taken} tokens taken, ${charges} times by a charge; ${spent} are gone; ${failed} failed${firstError}`,
        holds: charges > 0 && spent === taken,
      };
    },
  },
];

const briefly = ({ effort: { hot } }: Prover) => ({ ...hot, seconds: Math.min(BRIEF_SECONDS, hot.seconds) });

const askedOf = ({ key, secret }: Prover, name: string, label: string) => ({
  secret,
  key: key("tables", name, label),
});
