/** Queues on a deployment that changes: a deploy while jobs wait, and workers whose planned run is gone. */
import { api } from "../../stage/convex/_generated/api.js";
import { type Waker, WAKERS } from "../../stage/convex/prove/operations.js";
import type { Check, Effort, Prover } from "./check.js";
import { sleep, until } from "./sleep.js";

const subject = "Queues";
/** The rates of the two definitions are 1 and 20 jobs a second. A worker hands over the jobs of the next second. */
const MOST_SLOWLY = { inOneSecond: 3, inTwo: 4 };
const LOST_AFTER_MS = 63_000;

const deploys: Check = {
  subject,
  name: "Deploys while a queue works: the rate is raised, and lowered again",
  expected:
    "the queue follows the definition of the last caller: all waiting jobs start at once, and later ones do not",
  calls: () => 60,
  seconds: () => 15,
  run: async (prover) => {
    const label = "deploys";
    const key = prover.key("component", "proofDeploy", label);
    const enqueue = (by: "slow" | "fast", from: number, count: number) =>
      prover.http.mutation(api.prove.queues.enqueueUnder, { ...prover.rows(label), key, by, from, count });
    await enqueue("slow", 0, 10);
    await sleep(1000);
    const slowly = (await rowsOf(prover, label)).length;
    await enqueue("fast", 10, 1);
    const raised = await until(4000, async () => ((await rowsOf(prover, label)).length === 11 ? true : undefined));
    await enqueue("fast", 11, 1);
    await enqueue("slow", 12, 8);
    await sleep(2000);
    const lowered = (await rowsOf(prover, label)).length - 12;
    // The others start soon, so that none is left when the run ends.
    await enqueue("fast", 20, 1);
    await until(4000, async () => ((await rowsOf(prover, label)).length === 21 ? true : undefined));
    return {
      seen: `${slowly} of 10 in the first second; all of them ${raised ? "soon" : "not"} after the raise; ${lowered} of 8 in two seconds after the cut`,
      holds: slowly <= MOST_SLOWLY.inOneSecond && raised === true && lowered <= MOST_SLOWLY.inTwo,
    };
  },
};

const lost: Check = {
  subject,
  name: "Workers whose planned run was cancelled, for a minute",
  expected: `the next ${WAKERS.join(", ")} starts the waiting jobs, and nothing else does`,
  calls: () => WAKERS.length * 250,
  seconds: () => 110,
  isBeside: true,
  run: async (prover) => {
    const { http, secret } = prover;
    const queues = await Promise.all(
      WAKERS.map(async (by) => {
        const label = `lost-${by}`;
        const key = prover.key("tables", "proofLost", label);
        const row = { ...prover.rows(label), key };
        const job = await http.mutation(api.prove.queues.enqueueThree, row, { skipQueue: true });
        await until(5000, async () => ((await rowsOf(prover, label)).length > 0 ? true : undefined));
        const cancelled = await http.mutation(api.prove.queues.lose, { secret, key }, { skipQueue: true });
        return { by, label, cancelled, rouse: () => http.mutation(api.prove.queues.rouse, { ...row, job, by }) };
      }),
    );
    await sleep(LOST_AFTER_MS);
    const started: string[] = [];
    for (const { by, label, rouse, cancelled } of queues) {
      const before = (await rowsOf(prover, label)).length;
      await rouse();
      const found = await until(10_000, async () => ((await rowsOf(prover, label)).length > before ? true : undefined));
      if (cancelled > 0 && before === 1 && found) started.push(by);
    }
    // None is left when the run ends.
    await until(15_000, async () => {
      const rest = await Promise.all(
        queues.map(async (one) => jobsOf(one.by) - (await rowsOf(prover, one.label)).length),
      );
      return rest.some((count) => count > 0) ? undefined : true;
    });
    return { seen: `started by ${started.join(", ")}`, holds: started.length === WAKERS.length };
  },
};

/** The jobs of a queue that start in all. */
const jobsOf = (by: Waker) => (by === "cancel" ? 2 : by === "enqueue" ? 4 : 3);

/** A lost worker counts as running for a minute, which a short run does not have. */
export const queues = ({ name }: Effort): Check[] => (name === "short" ? [deploys] : [deploys, lost]);

const rowsOf = ({ http, rows }: Prover, label: string) => http.query(api.prove.rows.list, rows(label));
