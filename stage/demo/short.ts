/** The three stories of `npm run demo`, drawn while they happen. */
import { isRateLimitError, MINUTE } from "convex-rate-limits";
import { api } from "../convex/_generated/api.js";
import type { Backend } from "./backend.js";
import { sleepUntil, until } from "./clock.js";
import { overdraft, type Start } from "./laws.js";
import { signUp } from "./people.js";
import { check, draw, heading, since } from "./report.js";

const MESSAGES = { rate: 60, period: MINUTE, capacity: 5 };
const LLM_TOKENS = { rate: 60_000, period: MINUTE, capacity: 2_000 };
const EVERY_MS = 200;
const ATTEMPTS = 15;
const JOBS = 4;
const JOB_TOKENS = 900;
/** Several times as long as the jobs need. */
const TIMEOUT_MS = 10_000;

export async function rollback(backend: Backend): Promise<void> {
  heading(
    "It rolls back: messages:broadcast takes 2 tokens, then throws",
    "sendMessage: 60 a minute, at most 5 at once",
  );
  const [author, bob, gone] = [
    await signUp(backend, "Ada"),
    await signUp(backend, "Bob"),
    await signUp(backend, "Cem"),
  ];
  await backend.mutation(api.signUps.close, { user: gone });
  const before = (await backend.query(api.messages.quota, { author })).value;
  draw(`   tokens before: ${before}`);
  const broadcast = backend.mutation(api.messages.broadcast, { author, to: [bob, gone], body: "A party!" });
  const threw = await broadcast.then(
    () => false,
    (error: unknown) => !isRateLimitError(error),
  );
  const after = (await backend.query(api.messages.quota, { author })).value;
  draw(`, after: ${after}\n`);
  check("the tokens are back", threw && before === 5 && after === before, { threw, before, after });
}

export async function burst(backend: Backend): Promise<void> {
  heading("A burst: messages:send 15 times, one every 200 ms", "sendMessage: 60 a minute, at most 5 at once");
  const [author, to] = [await signUp(backend, "Ada"), await signUp(backend, "Bob")];
  const start = Date.now();
  const sent: Start[] = [];
  const deniedWithToken: number[] = [];
  draw("   ");
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await sleepUntil(start + attempt * EVERY_MS);
    const earliest = Date.now();
    try {
      await backend.mutation(api.messages.send, { author, to, body: `Message ${attempt}` });
      sent.push({ earliest, latest: Date.now(), tokens: 1 });
      draw("●");
    } catch (error) {
      if (!isRateLimitError(error)) throw error;
      const refilledMs = earliest - (sent[0]?.latest ?? earliest);
      const left = MESSAGES.capacity + (refilledMs * MESSAGES.rate) / MESSAGES.period - sent.length;
      if (left >= 1) deniedWithToken.push(attempt);
      draw("○");
    }
  }
  draw("   ● sent   ○ denied\n");
  const excess = overdraft(sent, MESSAGES);
  check(
    "5 plus one a second were sent: no more, and no fewer",
    sent.length < ATTEMPTS && excess === undefined && deniedWithToken.length === 0,
    { sent: sent.length, excess, deniedWithToken },
  );
}

export async function reservations(backend: Backend): Promise<void> {
  heading(
    "Reservations: llm:ask 4 times at once, 900 tokens each",
    "llmTokens: 60,000 a minute, at most 2,000 at once",
  );
  const user = await signUp(backend, "Ada");
  const start = Date.now();
  const ask = () => backend.mutation(api.llm.ask, { user, prompt: "Why?", maxAnswerTokens: JOB_TOKENS });
  await Promise.all(Array.from({ length: JOBS }, ask));
  const asked = Date.now();
  let drawn = 0;
  draw("   started at");
  const isOver = await until(async () => {
    const started = (await backend.query(api.llm.jobs, { user })).flatMap(({ startedAt }) => startedAt ?? []);
    for (const startedAt of started.slice(drawn)) draw(`   ${since(start, startedAt)}`);
    drawn = started.length;
    return drawn === JOBS;
  }, TIMEOUT_MS);
  draw("\n");
  const wrong = (await backend.query(api.llm.jobs, { user })).filter(({ tokens, startedAt = 0, promisedAt }, job) => {
    const missing = Math.max(0, (job + 1) * tokens - LLM_TOKENS.capacity);
    const waitMs = (missing * LLM_TOKENS.period) / LLM_TOKENS.rate;
    return startedAt < promisedAt || promisedAt < start + waitMs || promisedAt > asked + waitMs;
  });
  check(
    "each was promised the time at which its tokens come, and none started before",
    isOver && wrong.length === 0,
    wrong,
  );
}
