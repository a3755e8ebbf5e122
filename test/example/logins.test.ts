import { DAY, MINUTE, SECOND } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { emailOf, PASSWORD } from "../../example/demo/people.js";
import { openTown, START, useClock } from "./backend.js";

useClock();

const NOBODY = "nobody@example.com";
const END = 6 * MINUTE;
const locked = { outcome: "locked", retryAt: START + END };
const wrong = (attemptsLeft: number) => ({ outcome: "wrong", attemptsLeft });

async function openGate() {
  const { t, ada } = await openTown();
  const logIn = (password: string, email = emailOf("Ada")) => t.mutation(api.logins.logIn, { email, password });
  const lock = async (email?: string) => {
    for (const left of [4, 3, 2, 1, 0]) expect(await logIn("guess", email)).toEqual(wrong(left));
    expect(await logIn("guess", email)).toEqual(locked);
  };
  return { logIn, lock, welcome: { outcome: "welcome", user: ada } };
}

it.each([
  ["the right password", PASSWORD],
  ["a wrong password", "guess"],
])("the lock denies %s exactly until its end, however often the client tries", async (_, text) => {
  const { logIn, lock, welcome } = await openGate();
  await lock();
  for (const ms of [MINUTE, 2 * MINUTE, END - 1]) {
    vi.setSystemTime(START + ms);
    expect(await logIn(text)).toEqual(locked);
  }
  vi.setSystemTime(START + END);
  expect(await logIn(text)).toEqual(text === PASSWORD ? welcome : wrong(0));
});

it("simultaneous guesses get as few tries as sequential ones", async () => {
  const { logIn } = await openGate();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, guess) => logIn(`guess ${guess}`)));
  expect(answers.filter(({ outcome }) => outcome === "wrong")).toHaveLength(5);
});

it("an address without an account locks like one with an account, and does not lock others", async () => {
  const { logIn, lock, welcome } = await openGate();
  await lock(NOBODY);
  expect(await logIn(PASSWORD)).toEqual(welcome);
});

it("each failure locks for longer, up to ten minutes; a success or a day without a failure starts anew", async () => {
  const { t, ada } = await openTown();
  const signIn = (password: string) => t.mutation(api.lockouts.signIn, { email: emailOf("Ada"), password });
  /** Fails `times` times, each as soon as it is allowed, and returns the durations of the locks in ms. */
  const fail = async (times = 1) => {
    const locks = [];
    for (let i = 0; i < times; i++) {
      const answer = await signIn("guess");
      if (answer.outcome !== "wrong") throw new Error(`The password was not checked: ${answer.outcome}.`);
      locks.push(answer.lockedUntil - Date.now());
      vi.setSystemTime(answer.lockedUntil);
    }
    return locks;
  };
  expect(await fail(6)).toEqual([SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, 10 * MINUTE, 10 * MINUTE]);
  expect(await signIn(PASSWORD)).toEqual({ outcome: "welcome", user: ada });
  expect(await fail(2)).toEqual([SECOND, 10 * SECOND]);
  vi.setSystemTime(Date.now() + DAY);
  expect(await fail()).toEqual([SECOND]);
});
