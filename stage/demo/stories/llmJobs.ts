import { MINUTE } from "convex-rate-limits";
import { api } from "../../convex/_generated/api.js";
import type { Backend } from "../backend.js";
import { until } from "../clock.js";
import { overdraft } from "../laws.js";
import { signUp } from "../people.js";
import { check, count, heading, since, table, wait } from "../report.js";

/** Questions, and the tokens for their answers. Together they need the 2,000 at once and 1.3 s of refill. The empty question will fail. */
const QUESTIONS = [
  ["Why is the sky blue?", 900],
  ["And the sea?", 700],
  ["", 400],
  ["What is a token?", 800],
  ["Who are you?", 500],
] as const;
/** The question that is cancelled while it waits. The shorter one is asked after that. */
const LONG = ["Tell me everything about buckets.", 1500] as const;
const SHORT = ["Tell me something about buckets.", 400] as const;
/** Nearly as many tokens as can ever be promised. */
const NOVEL = 61_900;
const LIMIT = { rate: 60_000, period: MINUTE, capacity: 2_000 };
/** Several times as long as the promises say that the jobs take. */
const TIMEOUT_MS = 15_000;

export async function llmJobs(backend: Backend): Promise<void> {
  heading(
    "LLM jobs: reserved, run, settled",
    "llmTokens: 60,000 a minute, at most 2,000 at once, promises for a minute",
  );
  const user = await signUp(backend, "Ada");
  const ask = async ([prompt, maxAnswerTokens]: readonly [string, number]) => {
    const answer = await backend.mutation(api.llm.ask, { user, prompt, maxAnswerTokens });
    return { ...answer, answeredAt: Date.now() };
  };

  const start = Date.now();
  const asked: Awaited<ReturnType<typeof ask>>[] = [];
  for (const question of QUESTIONS) asked.push(await ask(question));
  const long = await ask(LONG);
  const canceled = long.ok && (await backend.mutation(api.llm.cancel, { job: long.job })).canceled;
  const short = await ask(SHORT);
  asked.push(long, short);
  const tooMuch = await ask(["Write a novel.", NOVEL]);

  const jobs = () => backend.query(api.llm.jobs, { user });
  /** A promised job has the status "queued" until it starts. */
  const isOver = (status: string) => status !== "queued" && status !== "running";
  const finished = await until(async () => (await jobs()).every(({ status }) => isOver(status)), TIMEOUT_MS);
  const over = await jobs();
  const [first] = asked;
  const tooLate = first?.ok && (await backend.mutation(api.llm.cancel, { job: first.job })).canceled;

  table([
    ["question", "promised", "ran", "late", "estimate", "used", "given back", "status"],
    ...over.map(({ prompt, tokens, used, promisedAt, startedAt, status }) => [
      prompt === "" ? "(none)" : prompt,
      since(start, promisedAt),
      startedAt === undefined ? "" : since(start, startedAt),
      startedAt === undefined ? "" : `${startedAt - promisedAt} ms`,
      count(tokens),
      used === undefined ? "" : count(used),
      count(tokens - (used ?? 0)),
      status,
    ]),
    [
      "Write a novel.",
      "",
      "",
      "",
      count(NOVEL),
      "",
      "",
      tooMuch.ok ? "promised" : `denied, room in ${wait(tooMuch.retryAt - start)}`,
    ],
  ]);

  const ran = over.filter(({ startedAt }) => startedAt !== undefined);
  check(
    "every question got its promise at once",
    asked.every((answer, i) => answer.ok && answer.promisedAt === over[i]?.promisedAt),
    asked,
  );
  check("all of them are over", finished && over.length === asked.length, over);
  const early = ran.filter(({ startedAt = 0, promisedAt }) => startedAt < promisedAt);
  check("no question started before its promised time", early.length === 0, early);
  const inOrder = ran.every(({ promisedAt }, i) => i === 0 || promisedAt >= (ran[i - 1]?.promisedAt ?? 0));
  check("the questions ran in the order of their promises", inOrder, ran);
  check(
    "the cancelled question never ran, and the next one got its tokens: its promised time is earlier",
    canceled && ran.length === asked.length - 1 && short.ok && short.promisedAt < long.promisedAt,
    { long, short, ran: ran.length },
  );
  check("a question that has run cannot be cancelled any more", tooLate === false, tooLate);
  const settled = over.every(
    ({ status, used, tokens }) => status === "cancelled" || (used !== undefined && used < tokens),
  );
  check(
    "every question that ran has paid less than its estimate, and the failed one nothing",
    settled && over[2]?.used === 0,
    over,
  );
  const excess = overdraft(
    ran.map(({ promisedAt, used = 0 }) => {
      // A job that did not have to wait was granted some time before its answer.
      const answeredAt =
        asked.find((answer) => answer.ok && answer.promisedAt === promisedAt)?.answeredAt ?? promisedAt;
      return { earliest: promisedAt, latest: Math.max(promisedAt, answeredAt), tokens: used };
    }),
    LIMIT,
  );
  check("at most 2,000 tokens plus 1,000 a second were used, in every interval", excess === undefined, excess);
  check("a job that would have to wait longer than a minute is denied, not promised", !tooMuch.ok, tooMuch);
}
