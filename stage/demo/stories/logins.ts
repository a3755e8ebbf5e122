import { api, internal } from "../../convex/_generated/api.js";
import type { Backend } from "../backend.js";
import { emailOf, PASSWORD, signUp } from "../people.js";
import { check, heading, table, wait } from "../report.js";

/** More than the five at once that the limit allows. */
const GUESSES = 8;

export async function logins(backend: Backend): Promise<void> {
  heading("Failed logins: a lock and its reset", "failedLogin: 10 an hour, at most 5 at once, for each account");
  await signUp(backend, "Ada");
  const email = emailOf("Ada");
  const rows = [["caller", "password", "answer", ""]];
  const logIn = async (who: string, password: string) => {
    const answer = await backend.mutation(api.logins.logIn, { email, password });
    const right = password === PASSWORD ? "right" : "wrong";
    rows.push([who, right, answer.outcome, consequence(answer)]);
    return answer;
  };

  const slips = [await logIn("Ada", "corect horse"), await logIn("Ada", "correct hrose")];
  const welcome = await logIn("Ada", PASSWORD);
  const afterwards = await backend.query(api.logins.attempts, { email });

  const guesses = [];
  for (let guess = 0; guess < GUESSES; guess++) guesses.push(await logIn("Mallory", `guess ${guess}`));
  const lucky = await logIn("Mallory", PASSWORD);

  await backend.mutation(internal.logins.unlock, { email });
  rows.push(["support", "", "unlocks the account", ""]);
  const back = await logIn("Ada", PASSWORD);
  table(rows);

  check(
    "a failed attempt counts",
    slips.every((slip, index) => slip.outcome === "wrong" && slip.attemptsLeft === 4 - index),
    slips,
  );
  check("a success resets the failures", welcome.outcome === "welcome" && afterwards.value === 5, afterwards);
  const tried = guesses.filter((guess) => guess.outcome === "wrong").length;
  check("five of Mallory's guesses were checked, and no more", tried === 5, guesses);
  const locks = [...guesses.slice(tried), lucky];
  const ends = new Set(locks.map((answer) => (answer.outcome === "locked" ? answer.retryAt : answer.outcome)));
  check("the lock also denies the right password, and more guesses neither shorten nor extend it", ends.size === 1, [
    ...ends,
  ]);
  check("after the unlock the owner can log in again", back.outcome === "welcome", back);
}

function consequence(answer: { outcome: string; attemptsLeft?: number; retryAt?: number }): string {
  if (answer.attemptsLeft !== undefined) return `attempts left: ${answer.attemptsLeft}`;
  if (answer.retryAt !== undefined) return `for ${wait(answer.retryAt - Date.now())}`;
  return "";
}
