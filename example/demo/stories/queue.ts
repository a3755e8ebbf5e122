import { MINUTE } from "convex-rate-limits";
import { api } from "../../convex/_generated/api.js";
import type { Backend } from "../backend.js";
import { until } from "../clock.js";
import { overdraft } from "../laws.js";
import { signUp } from "../people.js";
import { check, count, heading, since, table, wait } from "../report.js";

/** Tokens for the answers: together a good two seconds more than the 2,000 that are there at once. */
const ANSWERS = [900, 700, 400, 800, 300, 600, 500];
/** Nearly as much as the queue can hold at all. */
const NOVEL = 61_900;
const LIMIT = { rate: 60_000, period: MINUTE, capacity: 2_000 };
/** Several times what the queue is promised to take. */
const TIMEOUT_MS = 15_000;

export async function queue(backend: Backend): Promise<void> {
  heading("A queue of reserved LLM jobs", "llmTokens: 60,000 a minute, at most 2,000 at once, promises for a minute");
  const user = await signUp(backend, "Ada");

  const start = Date.now();
  const asked: { promisedAt: number | undefined; answeredAt: number }[] = [];
  for (const [index, maxAnswerTokens] of ANSWERS.entries()) {
    const prompt = `Question number ${index + 1} of ${ANSWERS.length}: why?`;
    const answer = await backend.mutation(api.llm.ask, { user, prompt, maxAnswerTokens });
    asked.push({ promisedAt: answer.ok ? answer.promisedAt : undefined, answeredAt: Date.now() });
  }
  const tooMuch = await backend.mutation(api.llm.ask, { user, prompt: "Write a novel.", maxAnswerTokens: NOVEL });

  const jobs = () => backend.query(api.llm.jobs, { user });
  const finished = await until(async () => (await jobs()).every((job) => job.status === "done"), TIMEOUT_MS);
  const done = await jobs();

  table([
    ["job", "tokens", "promised", "ran", "late", "status"],
    ...done.map(({ tokens, promisedAt, startedAt, status }, index) => [
      `question ${index + 1}`,
      count(tokens),
      since(start, promisedAt),
      startedAt === undefined ? "never" : since(start, startedAt),
      startedAt === undefined ? "" : `${startedAt - promisedAt} ms`,
      status,
    ]),
    ["a novel", count(NOVEL), "", "", "", tooMuch.ok ? "queued" : `refused, room in ${wait(tooMuch.retryAt - start)}`],
  ]);

  const promises = asked.map(({ promisedAt }) => promisedAt);
  check(
    "every question got its promise at once",
    promises.every((promise, index) => promise === done[index]?.promisedAt),
    promises,
  );
  check("every question was answered", finished && done.length === ANSWERS.length, done);
  const early = done.filter((job) => job.startedAt === undefined || job.startedAt < job.promisedAt);
  check("nobody started before the promise", early.length === 0, early);
  check(
    "nobody was overtaken",
    done.every((job, index) => index === 0 || job.promisedAt >= (done[index - 1]?.promisedAt ?? 0)),
    promises,
  );
  const excess = overdraft(
    done.map(({ promisedAt, tokens }, index) => {
      // A job that did not have to wait was granted at some moment before its answer.
      const latest = Math.max(promisedAt, asked[index]?.answeredAt ?? promisedAt);
      return { earliest: promisedAt, latest, tokens };
    }),
    LIMIT,
  );
  check("the promises keep to 2,000 tokens plus 1,000 a second, in every interval", excess === undefined, excess);
  check("a job that would have to wait longer than a minute is refused, not promised", !tooMuch.ok, tooMuch);
}
