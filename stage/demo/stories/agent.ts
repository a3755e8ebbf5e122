import { monitorEventLoopDelay } from "node:perf_hooks";
import { SECOND } from "convex-rate-limits";
import { api } from "../../convex/_generated/api.js";
import type { Backend } from "../backend.js";
import { until } from "../clock.js";
import { overdraft } from "../laws.js";
import { signUp } from "../people.js";
import { check, count, heading, since, table } from "../report.js";

/** Tasks of each user. Eve has many more. Together they take about three seconds of the limit, and half of their tokens come back. */
const TASKS = { Eve: 40, Finn: 5, Grace: 5 };
const TOKENS = 10;
const LIMIT = { rate: 100, period: SECOND, capacity: 20 };
/** Several times as long as the queue takes. */
const TIMEOUT_MS = 30_000;

export async function agent(backend: Backend): Promise<void> {
  heading(
    "An agent's tasks in a queue",
    "agentTokens: 100 a second, at most 20 at once; paying users first, users in turns",
  );
  const users = {
    Eve: await signUp(backend, "Eve"),
    Finn: await signUp(backend, "Finn"),
    Grace: await signUp(backend, "Grace"),
  };
  await backend.mutation(api.plans.changePlan, { user: users.Grace, plan: "pro" });
  const start = Date.now();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const ids = { Eve: [], Finn: [], Grace: [] } as Record<keyof typeof TASKS, Awaited<ReturnType<typeof ask>>[]>;
  const ask = async (name: keyof typeof TASKS) =>
    await backend.mutation(api.agent.ask, { user: users[name], tokens: TOKENS });
  for (const name of ["Eve", "Finn", "Grace"] as const) {
    for (let i = 0; i < TASKS[name]; i++) ids[name].push(await ask(name));
  }
  const last = ids.Eve.at(-1);
  const before = last && (await backend.query(api.agent.position, { task: last }));
  const canceled = [];
  for (const task of ids.Eve.slice(20, 30)) canceled.push(await backend.mutation(api.agent.cancel, { task }));
  const after = last && (await backend.query(api.agent.position, { task: last }));

  const startsOf = async (name: keyof typeof TASKS) =>
    (await backend.query(api.agent.tasks, { user: users[name] })).flatMap(({ startedAt }) => startedAt ?? []);
  const all = async () => (await Promise.all([startsOf("Eve"), startsOf("Finn"), startsOf("Grace")])).flat();
  const expected = 50 - canceled.filter(Boolean).length;
  const finished = await until(async () => (await all()).length >= expected, TIMEOUT_MS);
  const [eve, finn, grace] = await Promise.all([startsOf("Eve"), startsOf("Finn"), startsOf("Grace")]);
  const row = (name: string, plan: string, asked: number, starts: number[]) => [
    name,
    plan,
    count(asked),
    count(starts.length),
    since(start, Math.max(...starts)),
  ];
  table([
    ["user", "plan", "asked", "ran", "last start"],
    row("Eve", "free", TASKS.Eve, eve),
    row("Finn", "free", TASKS.Finn, finn),
    row("Grace", "pro", TASKS.Grace, grace),
  ]);
  check("every task that was not cancelled ran, and ran once", finished && (await all()).length === expected);
  check("a cancelled task never runs", canceled.every(Boolean) && eve.length === 30, { canceled, ran: eve.length });
  check(
    "the tasks behind a cancelled one move up",
    before !== null &&
      after !== null &&
      before !== undefined &&
      after !== undefined &&
      (after.startsAt ?? 0) < (before.startsAt ?? 0),
    { before, after },
  );
  const later = [...eve, ...finn].filter((at) => at > Math.max(...grace)).length;
  check("the paying user asked last, and ten or more tasks of the others ran after hers", later >= 10, later);
  check("one user's forty tasks did not hold up another's five", Math.max(...finn) < Math.max(...eve), { finn, eve });
  // A task that starts late, because this process was busy, may start together with later ones: an interval counts as longer by that.
  const lateMs = delay.max / 1e6;
  const excess = overdraft(
    [...eve, ...finn, ...grace]
      .sort((a, b) => a - b)
      .map((at) => ({ earliest: at - lateMs, latest: at, tokens: TOKENS / 2 })),
    LIMIT,
  );
  check("at most 20 tokens plus 100 a second were used, in every interval", excess === undefined, excess);
}
