/** Logins of example/: only failures count, for the email and for the address. */
import { MINUTE } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { hashPassword } from "../../example/convex/passwords.js";
import { START, useClock } from "../support/clock.js";
import { denialOf } from "../support/errors.js";
import { openExample } from "./backend.js";

useClock(START);

const PASSWORD = "correct horse battery";
const EMAIL = "ada@example.com";
const locked = { outcome: "locked", retryAt: START + 6 * MINUTE };
const wrong = { outcome: "wrong" };

/** Hashes with one iteration, so that the tests are fast. Returns how many were asked for, by each hash. */
function hashFast() {
  const derive = crypto.subtle.deriveBits.bind(crypto.subtle);
  const asked: number[] = [];
  vi.spyOn(crypto.subtle, "deriveBits").mockImplementation((params, key, length) => {
    asked.push((params as Pbkdf2Params).iterations);
    return derive({ ...(params as Pbkdf2Params), iterations: 1 }, key, length);
  });
  return asked;
}

async function openGate() {
  const t = openExample();
  const hashed = hashFast();
  const password = await hashPassword(PASSWORD);
  const account = await t.run(async (ctx) => await ctx.db.insert("accounts", { email: EMAIL, password }));
  const from = (ip: string) => {
    const caller = t.withRequestMetadata({ ip });
    return (text: string, email = EMAIL) => caller.action(api.logins.logIn, { email, password: text });
  };
  return { t, hashed, from, logIn: from("198.51.100.7"), welcome: { outcome: "welcome", account } };
}

it("five wrong passwords lock the email in any spelling, also for the right password, until retryAt", async () => {
  const { logIn, from, welcome } = await openGate();
  for (const email of [EMAIL, "ADA@example.com", " ada@EXAMPLE.com ", EMAIL, EMAIL]) {
    expect(await logIn("guess", email)).toEqual(wrong);
  }
  expect(await logIn(PASSWORD)).toEqual(locked);
  expect(await from("203.0.113.9")(PASSWORD)).toEqual(locked);
  vi.setSystemTime(locked.retryAt);
  expect(await logIn(PASSWORD)).toEqual(welcome);
});

it("a success forgets the failures of the email", async () => {
  const { logIn, welcome } = await openGate();
  for (let i = 0; i < 4; i++) expect(await logIn("guess")).toEqual(wrong);
  expect(await logIn(PASSWORD)).toEqual(welcome);
  for (let i = 0; i < 5; i++) expect(await logIn("guess")).toEqual(wrong);
  expect(await logIn("guess")).toEqual(locked);
});

it("simultaneous guesses get as few tries as sequential ones", async () => {
  const { logIn } = await openGate();
  const answers = await Promise.all(Array.from({ length: 12 }, (_, guess) => logIn(`guess ${guess}`)));
  expect(answers.filter(({ outcome }) => outcome === "wrong")).toHaveLength(5);
});

it("an address that tries many emails is locked, and its own successes neither cost nor buy guesses", async () => {
  const { t, logIn, from, welcome } = await openGate();
  const emails = Array.from({ length: 20 }, (_, i) => `user${i}@example.com`);
  const password = await hashPassword("secret");
  await t.run(async (ctx) => {
    for (const email of emails) await ctx.db.insert("accounts", { email, password });
  });
  for (const [i, email] of emails.entries()) {
    if (i % 5 === 0) expect(await logIn(PASSWORD)).toEqual(welcome);
    expect(await logIn("guess", email)).toEqual(wrong);
  }
  expect(await logIn(PASSWORD)).toEqual({ outcome: "locked", retryAt: START + MINUTE });
  expect(await from("203.0.113.9")(PASSWORD)).toEqual(welcome);
});

it("an email without an account is answered like one with an account, after a hash as slow", async () => {
  const { logIn, hashed } = await openGate();
  for (let i = 0; i < 5; i++) expect(await logIn("guess", "nobody@example.com")).toEqual(wrong);
  expect(await logIn("guess", "nobody@example.com")).toEqual(locked);
  expect(hashed).toEqual(Array.from({ length: 6 }, () => 600_000));
  await expect(logIn("guess", "no email")).rejects.toThrow("NotAnEmail");
});

it("an address signs up five times an hour, and a new account can log in", async () => {
  const { t } = await openGate();
  const caller = t.withRequestMetadata({ ip: "203.0.113.9" });
  const signUp = (email: string, password = PASSWORD) => caller.action(api.logins.signUp, { email, password });
  await signUp("Bob@example.com");
  const login = { email: "bob@example.com", password: PASSWORD };
  expect(await caller.action(api.logins.logIn, login)).toMatchObject({ outcome: "welcome" });
  // A password that is too short costs no token. An email that is taken does, and its password stays.
  await expect(signUp("cem@example.com", "short")).rejects.toThrow("BadLength");
  for (let i = 0; i < 4; i++) await signUp(EMAIL, "another password");
  expect(await denialOf(signUp("cem@example.com"))).toMatchObject({ name: "signUps", retryAt: START + 12 * MINUTE });
  expect(await caller.action(api.logins.logIn, { email: EMAIL, password: PASSWORD })).toMatchObject({
    outcome: "welcome",
  });
});
