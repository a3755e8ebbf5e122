import { MINUTE } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api, internal } from "../../example/convex/_generated/api.js";
import { emailOf, PASSWORD, signUp } from "../../example/demo/people.js";
import { openBackend, START, useClock } from "./backend.js";

useClock();

async function openGate() {
  const t = openBackend();
  const ada = await signUp(t, "Ada");
  const logIn = (password: string, email = emailOf("Ada")) => t.mutation(api.logins.logIn, { email, password });
  const lock = async (email?: string) => {
    for (let guess = 1; guess <= 5; guess++) await logIn("guess", email);
  };
  return { t, ada, logIn, lock };
}

it("a failed login counts, although it fails", async () => {
  const { logIn } = await openGate();
  for (const attemptsLeft of [4, 3, 2, 1, 0]) {
    expect(await logIn("guess")).toEqual({ outcome: "wrong", attemptsLeft });
  }
  expect(await logIn("guess")).toEqual({ outcome: "locked", retryAt: START + 6 * MINUTE });
});

it("a successful login costs nothing and forgets the failures", async () => {
  const { t, ada, logIn } = await openGate();
  await logIn("guess");
  await logIn("guess");
  for (let i = 1; i <= 20; i++) expect(await logIn(PASSWORD)).toEqual({ outcome: "welcome", user: ada });
  expect(await t.query(api.logins.attempts, { email: emailOf("Ada") })).toMatchObject({ value: 5 });
  expect(await logIn("guess")).toEqual({ outcome: "wrong", attemptsLeft: 4 });
});

it("the lock holds against the right password too, until its end and not a millisecond longer", async () => {
  const { ada, logIn, lock } = await openGate();
  await lock();
  const locked = { outcome: "locked", retryAt: START + 6 * MINUTE };
  expect(await logIn(PASSWORD)).toEqual(locked);
  vi.setSystemTime(locked.retryAt - 1);
  expect(await logIn(PASSWORD)).toEqual(locked);
  vi.setSystemTime(locked.retryAt);
  expect(await logIn(PASSWORD)).toEqual({ outcome: "welcome", user: ada });
});

it("knocking on a locked account does not extend the lock", async () => {
  const { logIn, lock } = await openGate();
  await lock();
  for (let minute = 0; minute < 6; minute++) {
    vi.setSystemTime(START + minute * MINUTE);
    expect(await logIn("guess")).toEqual({ outcome: "locked", retryAt: START + 6 * MINUTE });
  }
  vi.setSystemTime(START + 6 * MINUTE);
  expect(await logIn("guess")).toEqual({ outcome: "wrong", attemptsLeft: 0 });
});

it("guesses made all at once get no more tries than guesses made in turn", async () => {
  const { logIn } = await openGate();
  const answers = await Promise.all(Array.from({ length: 50 }, (_, guess) => logIn(`guess ${guess}`)));
  expect(answers.filter(({ outcome }) => outcome === "wrong")).toHaveLength(5);
  expect(answers.filter(({ outcome }) => outcome === "locked")).toHaveLength(45);
});

it("an address without an account locks like one with an account", async () => {
  const { logIn, lock } = await openGate();
  await lock("nobody@example.com");
  expect(await logIn("guess", "nobody@example.com")).toEqual({ outcome: "locked", retryAt: START + 6 * MINUTE });
});

it("locking one account leaves the others alone", async () => {
  const { ada, logIn, lock } = await openGate();
  await lock("nobody@example.com");
  expect(await logIn(PASSWORD)).toEqual({ outcome: "welcome", user: ada });
});

it("unlocking lets the owner in at once", async () => {
  const { t, ada, logIn, lock } = await openGate();
  await lock();
  await t.mutation(internal.logins.unlock, { email: emailOf("Ada") });
  expect(await logIn(PASSWORD)).toEqual({ outcome: "welcome", user: ada });
});
